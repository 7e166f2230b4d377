#include "oob/events.h"

#include "context/clock.h"
#include "context/quiet.h"
#include "diagnosis/bootstrap.h"
#include "oob/evidence.h"
#include "record/event.h"

namespace nnd::oob {

namespace {

using diagnosis::BootStep;
using diagnosis::Bootstrap;
using record::Event;
using record::EventId;
using record::Severity;
using state::Boot;

double us(std::uint64_t ns) { return static_cast<double>(ns) / 1000; }

void add_text(Event& e, record::Key key, const std::string& text) {
  if (!text.empty()) e.add(key, text);
}

void add_own_end(Event& e, const Boot& boot, const Bootstrap& seen) {
  if (boot.comm != 0) e.hex("comm", boot.comm);
  if (!seen.listener.empty()) {
    e.object("bootstrap").add("address", seen.listener);
    add_text(e, "netdev", seen.netdev);
    add_text(e, "why", seen.why);
    e.end();
  }
  add_text(e, "root", seen.root);
}

void add_far_end(Event& e, const Boot& boot, const Bootstrap& seen) {
  if (seen.target.empty() || boot.call == state::BootCall::kAccept) return;  // nobody yet
  e.object("target").add("address", seen.target);
  if (seen.far != diagnosis::FarEnd::kUnknown) e.add("state", diagnosis::far_end_name(seen.far));
  if (seen.error != 0) e.add("errno", seen.error);
  if (seen.attempts != 0) e.add("attempts", seen.attempts);
  if (seen.retransmits != 0) e.add("retransmits", seen.retransmits);
  add_text(e, "source", seen.source);
  add_text(e, "netdev", seen.source_netdev);
  add_text(e, "outside", seen.source_subnet);
  add_text(e, "bridge", seen.bridge);
  add_text(e, "neighbour", seen.neighbour);
  e.end();
}

void add_guests(Event& e, const Bootstrap& seen) {
  if (seen.step != BootStep::kGather) return;
  e.object("came").add("count", seen.guests).array("hosts");
  for (const std::string& host : seen.hosts) e.push(host);
  e.end().end();
}

void add_all(Event& e, const Boot& boot, const Bootstrap& seen) {
  e.add("step", diagnosis::step_name(seen.step));
  add_own_end(e, boot, seen);
  add_far_end(e, boot, seen);
  add_guests(e, seen);
}

}  // namespace

void tell_init_stall(const Boot& boot, std::uint64_t age_ns) {
  const Bootstrap seen = evidence(boot, age_ns);
  Event e(EventId::kInitStall, is_warning(seen) ? Severity::kWarn : Severity::kInfo);
  if (!e.enabled()) return;
  e.add("age_us", us(age_ns));
  add_all(e, boot, seen);
  e.diagnose(diagnose(seen)).lasts(is_warning(seen)).emit();
}

void tell_init_done(const Boot& boot) noexcept {
  context::quietly([&] {
    Event e(EventId::kInitReady);
    if (!e.enabled()) return;
    e.add("dur_us", us(context::mono_ns() - boot.began_ns));
    add_own_end(e, boot, evidence(boot, 0));
    e.array("listens");
    for (const auto& one : boot.listeners)
      if (one.known()) e.push(address_text(one));
    e.end().emit();
  });
}

void tell_closed(const state::SocketAddress& listener, int error) {
  Event e(EventId::kOobClosed);
  if (!e.enabled()) return;
  const std::string address = address_text(listener);
  e.object("target").add("address", address);
  if (error != 0) e.add("errno", error);
  e.end().diagnose(diagnosis::closed_by(address)).emit();
}

void tell_fail(const Boot& boot, const char* call, int error) noexcept {
  context::quietly([&] {
    Event e(EventId::kInitFail, Severity::kError);
    if (!e.enabled()) return;
    Bootstrap seen = evidence(boot, 0);
    seen.call = call;
    seen.error = error;
    if (boot.call != state::BootCall::kConnect) seen.step = BootStep::kSocket;
    e.add("errno", error);
    add_all(e, boot, seen);
    e.diagnose(diagnose(seen)).emit();
  });
}

}  // namespace nnd::oob
