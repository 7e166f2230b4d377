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
int g_mask = 0;
std::array<Context, state::kCommunicators> g_contexts;

Context* context_at(const void* ours) noexcept {
  const auto place = place_of(ours);
  return is_own(ours) && place < g_contexts.size() ? &g_contexts[place] : nullptr;
}

// The masks of NCCL 2.28 to 2.30 (src/plugin/profiler.cc, ncclProfilerStart*Event). What older
// releases leave out of them is what they have no events for, and of v1 and v2 some parents.
constexpr int kSteps = profile::kProxyStep | profile::kNetPlugin;
constexpr int kOps = profile::kProxyOp | kSteps;
constexpr int kOfTask = kOps | profile::kKernelCh;
constexpr int kOfCopyEngine = profile::kCeColl | profile::kCeSync | profile::kCeBatch;
constexpr int kColls = profile::kColl | kOfTask, kP2ps = profile::kP2p | kOfTask;
constexpr int kGroups = profile::kGroup | kColls | kP2ps;

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

void set_other_name(const char* name) noexcept {
  g_name.store(name == nullptr ? "" : name, std::memory_order_relaxed);
}
const char* other_name() noexcept { return g_name.load(std::memory_order_relaxed); }

int* other_mask_place() noexcept { return &g_mask; }

int other_mask() noexcept { return std::atomic_ref<int>(g_mask).load(std::memory_order_relaxed); }

bool wants(int type, int mask) noexcept { return (mask_for(type) & mask) != 0; }

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
  return true;
}

}  // namespace nnd::profiler
