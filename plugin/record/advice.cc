#include "record/advice.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "record/pack.h"

namespace nnd::record {

namespace {

constexpr std::size_t kCauses = 96;  // the failure catalogue has about as many
constexpr std::size_t kLines = 512;  // lines a process gives to NCCL's logger at most
constexpr std::size_t kNameBytes = 32;

struct Cause {
  std::atomic<std::uint64_t> key{0};  // hash of the name; 0: free
  std::atomic<bool> named{false};
  char name[kNameBytes] = {};
  std::atomic<std::uint64_t> count{0};
};

constinit Cause g_causes[kCauses];
constinit std::atomic<std::uint64_t> g_seen[kLines] = {};
constinit std::atomic<std::uint64_t> g_held_back{0};

std::uint64_t hash(std::string_view text, std::uint64_t seed) {
  std::uint64_t h = seed ^ 0xCBF29CE484222325u;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return h | 1;
}

void count(std::string_view cause, std::uint64_t key) {
  for (Cause& slot : g_causes) {
    std::uint64_t found = slot.key.load(std::memory_order_acquire);
    if (found == 0 && slot.key.compare_exchange_strong(found, key)) {
      std::memcpy(slot.name, cause.data(), std::min(cause.size(), kNameBytes - 1));
      slot.named.store(true, std::memory_order_release);
      found = key;
    }
    if (found != key) continue;
    slot.count.fetch_add(1, std::memory_order_relaxed);
    return;
  }
}

bool first(std::uint64_t key) {
  for (std::size_t i = 0; i < kLines; ++i) {
    std::atomic<std::uint64_t>& slot = g_seen[(key + i) % kLines];
    std::uint64_t found = slot.load(std::memory_order_relaxed);
    if (found == 0 && slot.compare_exchange_strong(found, key)) return true;
    if (found == key) return false;
  }
  return false;
}

}  // namespace

bool first_of_cause(std::string_view cause, std::uint64_t subject) noexcept {
  count(cause, hash(cause, 0));
  if (first(hash(cause, subject))) return true;
  g_held_back.fetch_add(1, std::memory_order_relaxed);
  return false;
}

void add_causes(Pack& fields) {
  fields.open("causes", false);
  for (const Cause& slot : g_causes)
    if (slot.named.load(std::memory_order_acquire))
      fields.add_unsigned(slot.name, slot.count.load(std::memory_order_relaxed));
  fields.end();
  fields.add_unsigned("advice_held_back", g_held_back.load(std::memory_order_relaxed));
}

void forget_causes() noexcept {
  for (Cause& slot : g_causes) {
    if (slot.key.load(std::memory_order_relaxed) == 0) continue;
    slot.named.store(false, std::memory_order_relaxed);
    slot.count.store(0, std::memory_order_relaxed);
    std::memset(slot.name, 0, sizeof(slot.name));
    slot.key.store(0, std::memory_order_release);
  }
  for (auto& slot : g_seen) slot.store(0, std::memory_order_relaxed);
  g_held_back.store(0, std::memory_order_relaxed);
}

}  // namespace nnd::record
