#include "profiler/other.h"

#include <array>
#include <atomic>

#include "nccl_abi/profiler.h"
#include "profiler/layer.h"
#include "profiler/pairs.h"
#include "state/communicators.h"

namespace nnd::profiler {

namespace {

namespace profile = nccl_abi::profile;

struct Context {
  std::atomic<bool> known{false};
  std::atomic<void*> theirs{nullptr};
};

std::atomic<const char*> g_name{""};
std::atomic<int> g_nccls_api{0};
int g_mask = 0;
std::array<Context, state::kCommunicators> g_contexts;

Context* context_at(const void* ours) noexcept {
  const auto place = place_of(ours);
  return is_own(ours) && place < g_contexts.size() ? &g_contexts[place] : nullptr;
}

// The masks of NCCL 2.28 to 2.30 (src/plugin/profiler.cc, ncclProfilerStart*Event).
constexpr int kSteps = profile::kProxyStep | profile::kNetPlugin;
constexpr int kOps = profile::kProxyOp | kSteps;
constexpr int kOfTask = kOps | profile::kKernelCh;
constexpr int kOfCopyEngine = profile::kCeColl | profile::kCeSync | profile::kCeBatch;
constexpr int kColls = profile::kColl | kOfTask, kP2ps = profile::kP2p | kOfTask;
constexpr int kGroups = profile::kGroup | kColls | kP2ps;
// 2.23 to 2.25 tell of sends and receives where collectives are asked for (its
// ncclProfilerStartTaskEvents), and of a group not for its own sake (ncclProfilerStartGroupEvent).
constexpr int kFirstTasks = profile::kColl | profile::kProxyOp | profile::kProxyStep;
constexpr int kFirstApiWithP2ps = 3;

constexpr int first_mask_for(int type) {
  if (type == profile::kGroup) return kFirstTasks | profile::kP2p;
  return type == profile::kColl || type == profile::kP2p ? kFirstTasks : 0;
}

constexpr int mask_for(int type) {
  switch (type) {
    case profile::kGroup:
      return kGroups;
    case profile::kColl:
      return kColls;
    case profile::kP2p:
      return kP2ps;
    case profile::kProxyOp:
      return kOps;
    case profile::kProxyStep:
      return kSteps;
    case profile::kGroupApi:
      return kGroups | profile::kGroupApi | profile::kCollApi | profile::kP2pApi |
             profile::kKernelLaunch | kOfCopyEngine;
    case profile::kCollApi:
      return profile::kCollApi | kColls | kOfCopyEngine;
    case profile::kP2pApi:
      return profile::kP2pApi | kP2ps;
    case profile::kCeColl:
      return kOfCopyEngine;
    default:
      return type;
  }
}

}  // namespace

void set_other(const char* name, int nccls_api) noexcept {
  g_name.store(name == nullptr ? "" : name, std::memory_order_relaxed);
  g_nccls_api.store(nccls_api, std::memory_order_relaxed);
}
const char* other_name() noexcept { return g_name.load(std::memory_order_relaxed); }

int* other_mask_place() noexcept { return &g_mask; }

int other_mask() noexcept { return std::atomic_ref<int>(g_mask).load(std::memory_order_relaxed); }

bool wants(int type, int mask) noexcept {
  const bool first = g_nccls_api.load(std::memory_order_relaxed) < kFirstApiWithP2ps;
  const int by = first ? first_mask_for(type) : 0;
  return ((by != 0 ? by : mask_for(type)) & mask) != 0;
}

void keep_other_context(const void* ours, void* theirs) noexcept {
  Context* const context = context_at(ours);
  if (context == nullptr) return;
  context->theirs.store(theirs, std::memory_order_relaxed);
  context->known.store(true, std::memory_order_release);
}

bool other_context(void* ours, void*& theirs) noexcept {
  if (!is_own(ours)) {
    theirs = ours;
    return true;
  }
  const Context* const context = context_at(ours);
  if (context == nullptr || !context->known.load(std::memory_order_acquire)) return false;
  theirs = context->theirs.load(std::memory_order_relaxed);
  return true;
}

bool drop_other_context(const void* ours, void*& theirs) noexcept {
  Context* const context = context_at(ours);
  if (context == nullptr || !context->known.exchange(false)) return false;
  theirs = context->theirs.load(std::memory_order_relaxed);
  end_pairs_of(place_of(ours));
  constexpr int kFirstWithoutNull = 5;  // v2.28.3-1 src/plugin/profiler.cc
  return theirs != nullptr || g_nccls_api.load(std::memory_order_relaxed) < kFirstWithoutNull;
}

}  // namespace nnd::profiler
