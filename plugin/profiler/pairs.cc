#include "profiler/pairs.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>

#include "context/memory_order.h"
#include "profiler/handle.h"

namespace nnd::profiler {

namespace {

using context::kAcquire;
using context::kRelaxed;
using context::kRelease;

struct Place {
  std::atomic<std::uint64_t> life{0};  // how often it was taken, then a bit: it is in use
  std::atomic<void*> ours{nullptr}, theirs{nullptr};
  std::atomic<int> mask{0};
  std::atomic<std::uint32_t> communicator{0};
};

// A handle, from the lowest bit: kind 3, place 18, life 43.
constexpr int kPlaceBits = 18, kLifeBits = 43;
constexpr std::size_t kPlaces = std::size_t{1} << kPlaceBits;
constexpr std::uint64_t kLifeMask = (std::uint64_t{1} << kLifeBits) - 1;
constexpr std::uint32_t kNobody = ~std::uint32_t{0};

std::atomic<Place*> g_places{nullptr};
std::atomic<std::uint64_t> g_next{0};
std::atomic<std::size_t> g_for_good{0};

Place* place_of(const void* handle, std::uint64_t& life) noexcept {
  Place* const places = g_places.load(kAcquire);
  if (places == nullptr || !is_pair(handle)) return nullptr;
  const std::uint64_t word = word_of(handle);
  life = word >> (3 + kPlaceBits);
  return &places[word >> 3 & (kPlaces - 1)];
}

bool may_be_kept_for_good() noexcept {
  constexpr std::size_t kMost = kPlaces / 4;
  if (g_for_good.fetch_add(1, kRelaxed) < kMost) return true;
  g_for_good.fetch_sub(1, kRelaxed);
  return false;
}

}  // namespace

bool prepare_pairs() noexcept {
  if (g_places.load(kAcquire) != nullptr) return true;
  void* const memory = ::mmap(nullptr, kPlaces * sizeof(Place), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  // Zeroes are free places.
  Place* none = nullptr;
  if (!g_places.compare_exchange_strong(none, static_cast<Place*>(memory)))
    ::munmap(memory, kPlaces * sizeof(Place));
  return true;
}

void* new_pair(const ChainedHandle& pair, std::uint32_t communicator, bool for_good) noexcept {
  Place* const places = g_places.load(kAcquire);
  if (places == nullptr) return nullptr;
  constexpr int kTries = 64;  // of places that are in use
  for (int n = 0; n < kTries; ++n) {
    const std::uint64_t index = g_next.fetch_add(1, kRelaxed) & (kPlaces - 1);
    Place& place = places[index];
    std::uint64_t before = place.life.load(kRelaxed);
    const std::uint64_t life = (before / 2 + 1) & kLifeMask;
    if ((before & 1) != 0 || !place.life.compare_exchange_strong(before, life << 1 | 1)) continue;
    place.ours.store(pair.ours, kRelease);
    place.theirs.store(pair.theirs, kRelease);
    place.mask.store(pair.mask, kRelease);
    place.communicator.store(for_good && may_be_kept_for_good() ? kNobody : communicator, kRelease);
    return std::bit_cast<void*>(static_cast<std::uint64_t>(HandleKind::kPair) | index << 3 |
                                life << (3 + kPlaceBits));
  }
  return nullptr;
}

bool read_pair(const void* handle, ChainedHandle& pair) noexcept {
  std::uint64_t life = 0;
  const Place* const place = place_of(handle, life);
  if (place == nullptr || place->life.load(kAcquire) >> 1 != life) return false;
  const ChainedHandle seen{place->ours.load(kAcquire), place->theirs.load(kAcquire),
                           place->mask.load(kAcquire)};
  if (place->life.load(kRelaxed) >> 1 != life) return false;
  pair = seen;
  return true;
}

void set_theirs(const void* handle, void* theirs) noexcept {
  std::uint64_t life = 0;
  if (Place* const place = place_of(handle, life)) place->theirs.store(theirs, kRelease);
}

void end_pair(const void* handle) noexcept {
  std::uint64_t life = 0;
  Place* const place = place_of(handle, life);
  if (place == nullptr || place->communicator.load(kAcquire) == kNobody) return;
  std::uint64_t in_use = life << 1 | 1;
  place->life.compare_exchange_strong(in_use, life << 1);
}

void end_pairs_of(std::uint32_t communicator) noexcept {
  Place* const places = g_places.load(kAcquire);
  if (places == nullptr) return;
  const std::size_t taken = std::min<std::uint64_t>(g_next.load(kRelaxed), kPlaces);
  for (std::size_t index = 0; index < taken; ++index) {
    Place& place = places[index];
    std::uint64_t life = place.life.load(kAcquire);
    if ((life & 1) != 0 && place.communicator.load(kAcquire) == communicator)
      place.life.compare_exchange_strong(life, life & ~std::uint64_t{1});
  }
}

}  // namespace nnd::profiler
