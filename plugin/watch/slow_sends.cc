#include "watch/slow_sends.h"

#include <algorithm>
#include <bit>

#include "context/memory_order.h"
#include "state/connections.h"

namespace nnd::watch {

namespace {

using context::kRelaxed;
constexpr std::uint64_t kFewestSends = 16;  // in a window
constexpr std::size_t kFewestSiblings = 4;  // with it
constexpr std::uint64_t kTimesSlower = 8;
constexpr std::uint64_t kLeastNs = 1'000'000;  // below this nobody's job is slow of it

constexpr std::uint64_t kFewestBytes = 1 << 20;  // of a port in a window
constexpr std::size_t kFewestWindows = 4;        // of alike messages, before
constexpr std::size_t kWindowsKept = 32;
constexpr double kTimesBefore = 4;

}  // namespace

std::uint64_t SlowSendDetector::Sends::mean_ns() const {
  return count == 0 ? 0 : static_cast<std::uint64_t>(ns / static_cast<double>(count));
}

unsigned SlowSendDetector::Sends::size_class() const {
  return count == 0 ? 0 : static_cast<unsigned>(std::bit_width(bytes / count));
}

// By the middle of each bucket.
SlowSendDetector::Sends SlowSendDetector::measure(const state::Connection& c, Memory& memory) {
  Sends out;
  for (std::size_t b = 0; b < state::kPlausibleBuckets; ++b) {
    const std::uint64_t now = c.latency[b].load(kRelaxed);
    const std::uint64_t here = now - memory.latency[b];
    memory.latency[b] = now;
    out.ns += 1.5 * static_cast<double>(std::uint64_t{1} << b) * static_cast<double>(here);
    out.count += here;
  }
  const std::uint64_t bytes = c.bytes.load(kRelaxed);
  out.bytes = bytes - memory.bytes;
  memory.bytes = bytes;
  return out;
}

std::vector<SlowSendDetector::Measured> SlowSendDetector::measure() {
  std::vector<Measured> out;
  const std::size_t places = state::entries_used();
  if (memories_.size() < places) memories_.resize(places);
  for (std::size_t place = 0; place < places; ++place) {
    state::Connection* const c = state::entry_at(place);
    if (c == nullptr || c->kind.load(kRelaxed) != state::ConnectionKind::kSend ||
        c->stage.load(kRelaxed) != state::Stage::kReady)
      continue;
    Memory& memory = memories_[place];
    const bool known = memory.id == c->id.load(kRelaxed);
    if (!known) memory = {.id = c->id.load(kRelaxed)};
    const Sends sends = measure(*c, memory);
    if (known && sends.count != 0) out.push_back({c, &memory, sends});
  }
  return out;
}

void SlowSendDetector::judge_siblings(std::vector<Measured*>& alike, std::vector<Slow>& out) {
  const auto middle = alike.begin() + static_cast<std::ptrdiff_t>(alike.size() / 2);
  std::nth_element(alike.begin(), middle, alike.end(), [](const Measured* a, const Measured* b) {
    return a->sends.mean_ns() < b->sends.mean_ns();
  });
  const std::uint64_t usual = (*middle)->sends.mean_ns();
  for (const Measured* const one : alike) {
    const std::uint64_t mean = one->sends.mean_ns();
    unsigned& slow_for = one->memory->slow;
    const bool slow =
        alike.size() >= kFewestSiblings && mean >= kLeastNs && mean >= kTimesSlower * usual;
    if (slow ? ++slow_for == 2 : slow_for >= 2)
      out.push_back({one->connection, mean, usual, slow, 0, 0});
    if (!slow) slow_for = 0;
  }
}

// A program that sends less, or in bursts after long pauses, makes no port slow: what is compared
// is the most that the port can have moved while anything was under way, by how many requests ever
// were so at once, with the least that it moved before, pauses included.
void SlowSendDetector::judge_past(const PortWindow& now, Past& past, std::uint64_t window_ns,
                                  std::vector<Slow>& out) {
  const Sends& sends = now.sends;
  if (sends.count < kFewestSends || sends.bytes < kFewestBytes) return;
  std::vector<Past::Window> alike;
  for (const Past::Window& window : past.windows)
    if (window.size_class == sends.size_class()) alike.push_back(window);
  Past::Window usual;
  if (alike.size() >= kFewestWindows) {
    const auto middle = alike.begin() + static_cast<std::ptrdiff_t>(alike.size() / 2);
    std::nth_element(alike.begin(), middle, alike.end(),
                     [](const auto& a, const auto& b) { return a.rate < b.rate; });
    usual = *middle;
  }
  const auto bytes = static_cast<double>(sends.bytes);
  const double most = bytes * static_cast<double>(now.most_in_flight) / sends.ns * 1e9;
  const bool slow = sends.mean_ns() >= kLeastNs && kTimesBefore * most <= usual.rate;
  if (slow ? ++past.slow == 2 : past.slow >= 2)
    out.push_back(
        {now.slowest->connection, sends.mean_ns(), usual.mean_ns, slow, most, usual.rate});
  if (slow) return;  // or what is slow would soon be usual
  past.slow = 0;
  past.windows.push_back(
      {sends.size_class(), sends.mean_ns(), bytes * 1e9 / static_cast<double>(window_ns)});
  if (past.windows.size() > kWindowsKept) past.windows.pop_front();
}

std::vector<SlowSendDetector::Slow> SlowSendDetector::judge(std::uint64_t window_ns) {
  std::vector<Measured> all = measure();
  std::map<unsigned, std::vector<Measured*>> by_size;
  std::map<PortName, PortWindow> by_port;
  for (Measured& one : all) {
    if (one.sends.count >= kFewestSends) by_size[one.sends.size_class()].push_back(&one);
    state::ConnectionEnds ends;
    if (!one.connection->ends.get(ends) || ends.port == 0) continue;
    PortWindow& port = by_port[{std::string(std::string_view(ends.device)), ends.port}];
    port.sends.count += one.sends.count;
    port.sends.bytes += one.sends.bytes;
    port.sends.ns += one.sends.ns;
    port.most_in_flight += one.connection->most_in_flight.load(kRelaxed);
    if (port.slowest == nullptr || one.sends.mean_ns() > port.slowest->sends.mean_ns())
      port.slowest = &one;
  }
  std::vector<Slow> out;
  for (auto& [size, alike] : by_size) judge_siblings(alike, out);
  for (const auto& [name, port] : by_port) judge_past(port, pasts_[name], window_ns, out);
  return out;
}

}  // namespace nnd::watch
