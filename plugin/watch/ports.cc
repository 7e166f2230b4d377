#include "watch/ports.h"

#include <algorithm>
#include <initializer_list>
#include <string>
#include <vector>

#include "context/clock.h"
#include "diagnosis/port.h"
#include "record/event.h"
#include "record/fields.h"

namespace nnd::watch {

namespace {

using facts::Counter;
using facts::Counts;
using record::Event;
using record::EventId;
using record::Severity;

// From what on a port is worse than a healthy one in a busy fabric: lost packets in a hundred, and
// single counts where each one costs much.
constexpr std::uint64_t kLossShare = 100;
constexpr std::uint64_t kFewestPackets = 10'000;
constexpr std::uint64_t kManyTimeouts = 10;
constexpr std::uint64_t kManyLinkErrors = 10;
constexpr std::uint64_t kSilentNs = 10'000'000'000;

std::uint64_t most(const Counts& counts, Counter kind) {
  std::uint64_t most = 0;
  for (const auto& [name, by] : counts)
    if (facts::kind_of_counter(name) == kind) most = std::max(most, by);
  return most;
}

std::vector<diagnosis::CounterGrowth> of_kinds(const Counts& counts,
                                               std::initializer_list<Counter> kinds) {
  std::vector<diagnosis::CounterGrowth> out;
  for (const auto& [name, by] : counts)
    if (std::find(kinds.begin(), kinds.end(), facts::kind_of_counter(name)) != kinds.end())
      out.push_back({name, by});
  return out;
}

std::string place_of(const facts::PortName& port) {
  return port.first + ":" + std::to_string(port.second);
}

void add_counts(Event& e, const facts::PortName& port, const Counts& counts) {
  e.array("counters").push_object().add("name", port.first).add("port", port.second);
  e.object("grown");
  for (const auto& [name, by] : counts) e.add(name, by);
  e.end().end().end();
}

void tell_worse(const facts::PortName& port, const facts::Growth& growth, bool link) {
  Event e(EventId::kPortEvent, Severity::kWarn);
  add_device(e, {.name = port.first, .port = port.second});
  e.add("event", "counters").add("dur_us", growth.sec * 1e6);
  add_counts(e, port, growth.counts);
  diagnosis::WorsePort seen;
  seen.place = place_of(port);
  seen.sec = growth.sec;
  seen.link = link;
  seen.counters = link ? of_kinds(growth.counts, {Counter::kLink})
                       : of_kinds(growth.counts, {Counter::kTimeout, Counter::kLoss});
  seen.packets = link ? 0 : most(growth.counts, Counter::kPackets);
  e.diagnose(diagnose(seen)).emit();
}

// What a failure asked for: all that the port has counted until now.
void tell_needs() {
  for (const facts::Need& need : facts::take_needs()) {
    Event e(EventId::kPortEvent);
    if (need.conn != 0) e.add("conn", need.conn);
    add_device(e, {.name = need.device, .port = need.port});
    e.add("event", "counters");
    add_counts(e, {need.device, need.port}, facts::counted(need.device, need.port));
    e.of_failure(need.cause, need.failure).emit();
  }
}

}  // namespace

void Ports::judge(const facts::PortName& port) {
  const auto growth = facts::grown_since(port.first, port.second, context::mono_ns() - window_ns_);
  if (!growth || growth->sec * 2e9 < static_cast<double>(window_ns_)) return;
  const std::uint64_t packets = most(growth->counts, Counter::kPackets);
  const std::uint64_t lost = most(growth->counts, Counter::kLoss);
  const std::uint64_t late = most(growth->counts, Counter::kTimeout);
  const std::uint64_t spoilt = most(growth->counts, Counter::kLink);
  const bool loses = packets >= kFewestPackets && lost >= packets / kLossShare;
  const std::uint64_t bad[] = {loses || late >= kManyTimeouts ? std::max(lost, late) : 0,
                               spoilt >= kManyLinkErrors ? spoilt : 0};
  for (const bool link : {false, true}) {
    std::uint64_t& told = told_[{port, link}];
    if (bad[link] == 0) told = 0;
    if (bad[link] == 0 || (told != 0 && bad[link] < 10 * told)) continue;
    told = bad[link];
    any_worse_.store(true, std::memory_order_relaxed);
    tell_worse(port, *growth, link);
  }
}

void Ports::look() {
  facts::sample_counters();
  tell_needs();
  for (const facts::PortName& port : facts::counted_ports()) judge(port);
}

void tell_silent_driver(const std::optional<facts::Reading>& reading, std::uint64_t mono_ns) {
  static std::uint64_t told_since_ns = 0;
  // It may have begun since the caller looked at the clock.
  if (!reading || reading->since_ns + kSilentNs > mono_ns || reading->since_ns == told_since_ns)
    return;
  told_since_ns = reading->since_ns;
  Event e(EventId::kPortEvent, Severity::kWarn);
  add_device(e, {.name = reading->port.first, .port = reading->port.second});
  e.add("event", "counters");
  e.diagnose(diagnose(diagnosis::SilentDriver{
                 place_of(reading->port), static_cast<double>(mono_ns - reading->since_ns) / 1e9}))
      .emit();
}

}  // namespace nnd::watch
