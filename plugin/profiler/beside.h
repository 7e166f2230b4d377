// Calls another profiler's table as NCCL would without us, beside ours. NCCL finds the versions of
// the API that this one has and no others (session/wiring.h), and so converts for it as ever.
#pragma once

#include <atomic>

#include "context/quiet.h"
#include "profiler/layer.h"
#include "profiler/other.h"
#include "profiler/pairs.h"
#include "state/labelling.h"

namespace nnd::profiler {

template <class Table>
class Beside {
  using Result = nccl_abi::Result;
  using Descr = typename Table::Descr;

 public:
  static void wrap(const Table* other, int nccls_api) noexcept {
    if (other != nullptr && !prepare_pairs()) other = nullptr;
    set_other(other == nullptr ? nullptr : other->name, nccls_api);
    other_.store(other, std::memory_order_release);
  }
  // Null: there is none.
  static const Table* other() noexcept { return other_.load(std::memory_order_acquire); }

  // arguments: of its init, between the context and what is the same for all of its forms.
  template <class Call>
  static void init(void* context, int* nccls_mask, Call&& call) noexcept {
    void* theirs = nullptr;
    const Result rc = call(&theirs, other_mask_place());
    if (rc == Result::kSuccess)
      keep_other_context(context, theirs);
    else
      context::quietly([&] { dependencies().other_failed(rc); });
    state::follow_other(other_mask());
    std::atomic_ref<int>(*nccls_mask).fetch_or(other_mask(), std::memory_order_relaxed);
  }

  // ours: what our layer makes of an event; gets it with our own handles in it.
  template <class Ours>
  static Result start(const Table& other, void* context, void** handle, const Descr& descr,
                      Ours&& ours) noexcept {
    const auto type = static_cast<int>(descr.type);
    if (is_label(descr, type)) {
      *handle = start_ours(context, descr, type, ours).ours;
      return Result::kSuccess;
    }
    state::follow_other(other_mask());
    ChainedHandle pair = start_ours(context, descr, type, ours);
    *handle = pair.ours;
    void* theirs = nullptr;
    if (!wants(type, pair.mask) || !other_context(context, theirs)) return Result::kSuccess;
    void* const kept = new_pair(pair, place_of(context), is_captured(descr, type));
    if (kept == nullptr) return Result::kSuccess;
    *handle = kept;
    Descr copy = translated(descr, type);
    void* its = nullptr;
    const Result rc = other.startEvent(theirs, &its, &copy);
    set_theirs(kept, its);
    return rc;
  }

  // Of a pair.
  static Result stop(void* handle) noexcept {
    ChainedHandle pair;
    if (!read_pair(handle, pair)) return Result::kSuccess;
    profiler::stop(pair.ours);
    const Result rc = pair.theirs == nullptr ? Result::kSuccess : other()->stopEvent(pair.theirs);
    end_pair(handle);
    return rc;
  }

  static Result record(void* handle, nccl_abi::ProfilerState state,
                       typename Table::StateArgs* args) noexcept {
    ChainedHandle pair;
    if (!read_pair(handle, pair)) return Result::kSuccess;
    profiler::record(pair.ours, state);
    return pair.theirs == nullptr ? Result::kSuccess
                                  : other()->recordEventState(pair.theirs, state, args);
  }

  static Result finalize(void* context) noexcept {
    void* theirs = nullptr;
    return drop_other_context(context, theirs) ? other()->finalize(theirs) : Result::kSuccess;
  }

 private:
  static inline std::atomic<const Table*> other_{nullptr};

  // The net layer's question whose a connection is: nobody else's.
  static bool is_label(const Descr& descr, int type) noexcept {
    if constexpr (requires { descr.netPlugin; })
      return type == nccl_abi::profile::kNetPlugin && descr.netPlugin.id == state::kLabelEvent;
    return false;
  }
  static bool is_captured(const Descr& descr, int type) noexcept {
    if constexpr (requires { descr.collApi; })
      return (type == nccl_abi::profile::kGroupApi && descr.groupApi.graphCaptured) ||
             (type == nccl_abi::profile::kCollApi && descr.collApi.graphCaptured) ||
             (type == nccl_abi::profile::kP2pApi && descr.p2pApi.graphCaptured);
    return false;
  }
  // Of another process's operation nothing in it is ours: a proxy works for its neighbours.
  static bool is_anothers(const Descr& descr, int type) noexcept {
    return type == nccl_abi::profile::kProxyOp && !is_own_process(descr.proxyOp.pid);
  }

  // Our own handle of it, and the other's mask: its parent's. An event that the other has not been
  // told of has children that it isn't told of either.
  template <class Ours>
  static ChainedHandle start_ours(void* context, const Descr& descr, int type,
                                  Ours&& ours) noexcept {
    Descr copy = descr;
    ChainedHandle parent;
    if (descr.parentObj == nullptr || is_anothers(descr, type))
      parent = {descr.parentObj, nullptr, other_mask()};
    else if (is_pair(descr.parentObj) && !read_pair(descr.parentObj, parent))
      parent.mask = other_mask();
    else if (!is_pair(descr.parentObj))
      parent.ours = descr.parentObj;
    copy.parentObj = parent.ours;
    return {ours(context, copy), nullptr, parent.mask};
  }

  static void* theirs_of(void* handle) noexcept {
    ChainedHandle pair;
    return read_pair(handle, pair) ? pair.theirs : nullptr;
  }
  static Descr translated(const Descr& descr, int type) noexcept {
    Descr copy = descr;
    if (!is_anothers(descr, type)) copy.parentObj = theirs_of(descr.parentObj);
    if constexpr (requires { descr.coll.parentGroup; }) {
      if (type == nccl_abi::profile::kColl)
        copy.coll.parentGroup = theirs_of(descr.coll.parentGroup);
      else if (type == nccl_abi::profile::kP2p)
        copy.p2p.parentGroup = theirs_of(descr.p2p.parentGroup);
    }
    return copy;
  }
};

}  // namespace nnd::profiler
