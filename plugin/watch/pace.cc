#include "watch/pace.h"

#include <algorithm>
#include <bit>
#include <map>

#include "state/connections.h"

namespace nnd::watch {

namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr std::uint64_t kFewestSends = 16;  // in a window
constexpr std::size_t kFewestSiblings = 4;  // with it
constexpr std::uint64_t kTimesSlower = 8;
constexpr std::uint64_t kLeastNs = 1'000'000;  // below this nobody's job is slow of it

}  // namespace

// By the middle of each bucket.
Pace::Measured Pace::measure(state::Connection& c, Memory& memory) {
  const std::uint64_t bytes = c.bytes.load(kRelaxed);
  double sum = 0;
  std::uint64_t count = 0;
  for (std::size_t b = 0; b < c.latency.size(); ++b) {
    const std::uint64_t now = c.latency[b].load(kRelaxed);
    const std::uint64_t here = now - memory.latency[b];
    memory.latency[b] = now;
    sum += 1.5 * static_cast<double>(std::uint64_t{1} << b) * static_cast<double>(here);
    count += here;
  }
  Measured out{&c, &memory, 0, 0};
  if (count >= kFewestSends) {
    out.mean_ns = static_cast<std::uint64_t>(sum / static_cast<double>(count));
    out.size_class = static_cast<unsigned>(std::bit_width((bytes - memory.bytes) / count));
  }
  memory.bytes = bytes;
  return out;
}

void Pace::judge(std::vector<Measured>& alike, std::vector<Slow>& out) {
  const auto middle = alike.begin() + static_cast<std::ptrdiff_t>(alike.size() / 2);
  std::nth_element(alike.begin(), middle, alike.end(),
                   [](const Measured& a, const Measured& b) { return a.mean_ns < b.mean_ns; });
  const std::uint64_t usual = middle->mean_ns;
  for (const Measured& one : alike) {
    const bool slow = alike.size() >= kFewestSiblings && one.mean_ns >= kLeastNs &&
                      one.mean_ns >= kTimesSlower * usual;
    if (slow ? ++one.memory->slow == 2 : one.memory->slow >= 2)
      out.push_back({one.connection, one.mean_ns, usual, slow});
    if (!slow) one.memory->slow = 0;
  }
}

std::vector<Pace::Slow> Pace::judge() {
  std::map<unsigned, std::vector<Measured>> by_size;
  const std::size_t places = state::entries_used();
  if (memories_.size() < places) memories_.resize(places);
  for (std::size_t place = 0; place < places; ++place) {
    state::Connection* const c = state::entry_at(place);
    if (c == nullptr || c->kind.load(kRelaxed) != state::Kind::kSend ||
        c->stage.load(kRelaxed) != state::Stage::kReady)
      continue;
    Memory& memory = memories_[place];
    const bool known = memory.id == c->id.load(kRelaxed);
    if (!known) memory = {.id = c->id.load(kRelaxed)};
    const Measured one = measure(*c, memory);
    if (known && one.mean_ns != 0) by_size[one.size_class].push_back(one);
  }
  std::vector<Slow> out;
  for (auto& [size, alike] : by_size) judge(alike, out);
  return out;
}

}  // namespace nnd::watch
