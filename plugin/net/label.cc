#include "net/label.h"

#include <atomic>

#include "state/labelling.h"

namespace nnd::net {

namespace {

std::atomic<nccl_abi::ProfilerCallback> g_callback{nullptr};

}  // namespace

void set_profiler_callback(nccl_abi::ProfilerCallback callback) noexcept {
  g_callback.store(callback, std::memory_order_relaxed);
}

void ask_whose(state::Connection& c, void* phandle) noexcept {
  if (!state::labelling()) {
    c.unlabelled = false;  // nobody will tell
    return;
  }
  state::want_label(c);
  if (state::labels_are_joined()) {
    state::last_posted() = &c;
    return;
  }
  const nccl_abi::ProfilerCallback callback = g_callback.load(std::memory_order_relaxed);
  if (callback == nullptr || phandle == nullptr) return;
  void* event = nullptr;
  callback(&event, nccl_abi::kProfilerNetEventStart, phandle, state::kLabelEvent, &c);
}

}  // namespace nnd::net
