#include "record/advice.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "record/pack.h"
#include "state/failure.h"

namespace nnd::record {

namespace {

constexpr std::size_t kCauses = nccl_net_diag::kCauses.size();
constexpr std::size_t kLines = 512;  // lines a process gives to NCCL's logger at most
constexpr std::size_t kNameBytes = 32;

struct CauseCount {
  std::atomic<std::uint64_t> key{0};  // hash of the name; 0: free
  std::atomic<bool> named{false};
  char name[kNameBytes] = {};
  std::atomic<std::uint64_t> count{0};
};

constinit CauseCount g_causes[kCauses];
constinit std::atomic<std::uint64_t> g_seen[kLines] = {};
constinit std::atomic<std::uint64_t> g_held_back{0};

std::uint64_t hash(std::string_view text, std::uint64_t seed) {
  std::uint64_t h = seed ^ 0xCBF29CE484222325u;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return h | 1;
}

void count(std::string_view cause, std::uint64_t key) {
  for (CauseCount& slot : g_causes) {
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
  for (const CauseCount& slot : g_causes)
    if (slot.named.load(std::memory_order_acquire))
      fields.add_unsigned(std::string_view(slot.name), slot.count.load(std::memory_order_relaxed));
  fields.end();
  fields.add_unsigned("advice_held_back", g_held_back.load(std::memory_order_relaxed));
}

void add_failures(Pack& fields) {
  constexpr std::size_t kListed = 32;
  const state::FailureList failures = state::list_failures(kListed);
  fields.open("failures", true);
  for (const state::Listed& one : failures.first) {
    fields.push_object();
    fields.add_unsigned("failure", one.failure.number);
    fields.add("cause", nccl_net_diag::cause_id(one.failure.diagnosis.cause));
    fields.add_unsigned("events", one.events);
    if (one.subject.conn != 0) fields.add_unsigned("conn", one.subject.conn);
    if (!one.subject.device.empty()) fields.add("device", one.subject.device);
    if (!one.subject.peer.empty()) fields.add("peer", one.subject.peer);
    fields.end();
  }
  fields.end();
  fields.add_unsigned("failures_total", failures.total);
}

void forget_causes() noexcept {
  for (CauseCount& slot : g_causes) {
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
