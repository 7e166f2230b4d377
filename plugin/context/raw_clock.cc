#include "context/raw_clock.h"

#include <limits>

#include "context/clock.h"

namespace nnd::context::raw_clock {

namespace {

struct Sample {
  std::uint64_t raw;
  std::uint64_t mono_ns;
};

// The tightest of a few readings: one may have been interrupted between the two clocks.
Sample sample() noexcept {
  Sample best{};
  std::uint64_t width = std::numeric_limits<std::uint64_t>::max();
  for (int i = 0; i < 4; ++i) {
    const std::uint64_t before = now();
    const std::uint64_t ns = mono_ns();
    const std::uint64_t after = now();
    if (after - before < width) {
      width = after - before;
      best = {before + (after - before) / 2, ns};
    }
  }
  return best;
}

// The first comparison; both words are set before g_known is.
std::atomic<std::uint64_t> g_raw{0};
std::atomic<std::uint64_t> g_mono_ns{0};
std::atomic<int> g_known{0};  // 0 no, 1 being set, 2 yes

constexpr std::uint64_t kShortestBaseline = 1000000;  // ns
constexpr double kUnit = 4294967296.0;                // of g_ns_per_tick

}  // namespace

constinit std::atomic<std::uint64_t> g_ns_per_tick{0};

void calibrate() noexcept {
  const Sample current = sample();
  int unknown = 0;
  if (g_known.compare_exchange_strong(unknown, 1)) {
    g_raw.store(current.raw, std::memory_order_relaxed);
    g_mono_ns.store(current.mono_ns, std::memory_order_relaxed);
    g_known.store(2, std::memory_order_release);
    return;
  }
  if (g_known.load(std::memory_order_acquire) != 2) return;
  const std::uint64_t ns = current.mono_ns - g_mono_ns.load(std::memory_order_relaxed);
  const std::uint64_t ticks = current.raw - g_raw.load(std::memory_order_relaxed);
  if (ns >= kShortestBaseline && ticks != 0)
    g_ns_per_tick.store(
        static_cast<std::uint64_t>(static_cast<double>(ns) / static_cast<double>(ticks) * kUnit),
        std::memory_order_relaxed);
}

Reference reference() noexcept {
  Reference r;
  if (g_known.load(std::memory_order_acquire) != 2) return r;
  r.raw = g_raw.load(std::memory_order_relaxed);
  r.mono_ns = g_mono_ns.load(std::memory_order_relaxed);
  if (const std::uint64_t ns_per_tick = g_ns_per_tick.load(std::memory_order_relaxed);
      ns_per_tick != 0)
    r.hz = static_cast<std::uint64_t>(1e9 * kUnit / static_cast<double>(ns_per_tick));
  return r;
}

}  // namespace nnd::context::raw_clock
