#include "watch/roots.h"

#include <algorithm>

#include "context/clock.h"
#include "diagnosis/root.h"
#include "peers/channel.h"
#include "record/event.h"
#include "record/fields.h"
#include "state/failure.h"

namespace nnd::watch {

namespace {

using record::Event;
using record::EventId;
using record::Severity;

state::Awaited awaited_of(const peers::Claim& claim, bool self) {
  state::Awaited out;
  out.kind = claim.kind;
  out.who = claim.who;
  out.other = claim.other;
  out.doing = claim.doing;
  out.other_doing = claim.other_doing;
  out.cause = claim.cause;
  out.place = claim.place;
  out.hops = claim.hops;
  out.self = self;
  const std::uint64_t now = context::mono_ns();
  out.since_ns = now - std::min(now, std::uint64_t{claim.age_ms} * 1'000'000);
  return out;
}

void tell(const state::Awaited& awaited, std::uint64_t waits_ms, const peers::Doing& in) {
  diagnosis::Root root = root_of(awaited);
  root.waited = static_cast<double>(waits_ms) / 1000.0;
  root.here = name_of(in);
  const bool warns = is_warning(awaited.kind);
  Event e(EventId::kJobStall, warns ? Severity::kWarn : Severity::kInfo);
  e.add("age_us", static_cast<double>(waits_ms) * 1000);
  e.with([&](record::Pack& fields) { add_awaited(fields, awaited); });
  e.diagnose(diagnose(root)).lasts(warns).emit();
}

}  // namespace

void Roots::look(std::uint64_t waits_ms, const peers::Doing& in, std::uint64_t self) {
  const auto [claim, stable, awaited_ms] = peers::answer();
  if (!claim.known() || !stable || is_hint(claim)) return;
  const bool own = claim.who.proc == self && peers::is_late(claim.kind);
  const std::uint64_t age_ms = own ? awaited_ms : waits_ms;
  if (age_ms * 1'000'000 < due_ns_) return forget_awaited();
  if (same_root(claim, told_) || !lines_.take(context::mono_ns() / 1'000'000)) return;
  const state::Awaited awaited = awaited_of(claim, own);
  told_ = claim;
  failures_ = state::list_failures(1).total;
  state::awaited().set(awaited);
  tell(awaited, own ? 0 : waits_ms, in);
}

// What fails now may do so because of that.
void Roots::forget_awaited() {
  told_ = {};
  if (state::list_failures(1).total == failures_) state::awaited().set({});
}

void Roots::forget() {
  told_ = {};
  failures_ = 0;
  state::awaited().set({});
}

}  // namespace nnd::watch
