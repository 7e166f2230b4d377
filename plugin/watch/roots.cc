#include "watch/roots.h"

#include "context/clock.h"
#include "diagnosis/root.h"
#include "peers/channel.h"
#include "record/event.h"

namespace nnd::watch {

namespace {

using record::Event;
using record::EventId;
using record::Severity;

diagnosis::RootProcess process_of(const peers::Who& who) {
  return {who.rank, std::string(std::string_view(who.host)), who.pid};
}

diagnosis::TaskName name_of(const peers::Doing& doing) {
  return {std::string(std::string_view(doing.func)), doing.number, doing.comm, doing.bytes, -1};
}

void add_process(Event& e, const peers::Who& who, const peers::Doing& doing) {
  e.hex("proc", who.proc);
  if (who.rank >= 0) e.add("rank", who.rank);
  if (!who.host.empty()) e.add("host", std::string_view(who.host));
  if (who.pid != 0) e.add("pid", who.pid);
  if (doing.func.empty()) return;
  e.object("task").add("kind", std::string_view(doing.func)).add("ordinal", doing.ordinal);
  if (doing.number >= 0) e.add("seq", doing.number);
  if (doing.bytes != 0) e.add("bytes", doing.bytes);
  e.end();
}

void tell(const peers::Claim& claim, std::uint64_t waits_ms, const peers::Doing& in, bool self) {
  diagnosis::Root root;
  root.kind = claim.kind;
  root.sec = claim.age_ms / 1000.0;
  root.waited = static_cast<double>(waits_ms) / 1000.0;
  root.self = self;
  root.who = process_of(claim.who);
  root.other = process_of(claim.other);
  root.doing = name_of(claim.doing);
  root.other_doing = name_of(claim.other_doing);
  root.here = name_of(in);
  root.place = std::string_view(claim.place);
  if (claim.cause != 0 && claim.cause <= nccl_net_diag::kCauses.size())
    root.cause = nccl_net_diag::kCauses[claim.cause - 1u].cause;
  const bool warns = is_warning(claim.kind);
  Event e(EventId::kJobStall, warns ? Severity::kWarn : Severity::kInfo);
  if (!e.enabled()) return;
  e.add("age_us", static_cast<double>(waits_ms) * 1000);
  e.object("awaited").add("kind", diagnosis::root_name(claim.kind));
  add_process(e, claim.who, claim.doing);
  e.add("age_us", claim.age_ms * 1000.0).add("hops", claim.hops);
  if (!claim.place.empty()) e.add("place", std::string_view(claim.place));
  if (claim.other.known()) {
    e.object("other");
    add_process(e, claim.other, claim.other_doing);
    e.end();
  }
  e.end().diagnose(diagnose(root)).lasts(warns).emit();
}

}  // namespace

void Roots::look(std::uint64_t waits_ms, const peers::Doing& in, std::uint64_t self) {
  const auto [claim, stable, awaited_ms] = peers::answer();
  if (!claim.known() || !stable || is_echo(claim)) return;
  const bool own = claim.who.proc == self && claim.kind == peers::Kind::kIdle;
  const std::uint64_t age_ms = own ? awaited_ms : waits_ms;
  if (age_ms * 1'000'000 < due_ns_) {
    told_ = {};
    return;
  }
  if (same_root(claim, told_) || !lines_.take(context::mono_ns() / 1'000'000)) return;
  told_ = claim;
  tell(claim, own ? 0 : waits_ms, in, own);
}

}  // namespace nnd::watch
