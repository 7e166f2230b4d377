// The rest of Shim: which slots it has, and how it is put before the transport.
#pragma once

#include <mutex>

#include "context/quiet.h"
#include "net/shim.h"

namespace nnd::net {

template <class Net>
constexpr Net Shim<Net>::table(const char* name) {
  Net t{};
  t.name = name;
  t.init = &Shim::init;
  t.devices = &Shim::devices;
  t.getProperties = &Shim::getProperties;
  t.listen = &Shim::listen;
  t.connect = &Shim::connect;
  t.accept = &Shim::accept;
  t.regMr = &Shim::regMr;
  t.regMrDmaBuf = &Shim::regMrDmaBuf;
  t.deregMr = &Shim::deregMr;
  t.isend = &Shim::isend;
  t.irecv = &Shim::irecv;
  t.iflush = &Shim::iflush;
  t.test = &Shim::test;
  t.closeSend = &Shim::closeSend;
  t.closeRecv = &Shim::closeRecv;
  t.closeListen = &Shim::closeListen;
  // IB has neither getDeviceMr nor irecvConsumed in any version.
  if constexpr (requires { t.makeVDevice; }) t.makeVDevice = &Shim::makeVDevice;
  if constexpr (requires { t.finalize; }) {
    t.finalize = &Shim::finalize;
    t.setNetAttr = &Shim::setNetAttr;
  }
  return t;
}

// The exported table as it is for the transport that was found.
template <class Net>
void Shim<Net>::update_exported_table(bool disabled) noexcept {
  if (exported_ == nullptr) return;
  if (disabled) {
    Net t = inner_;
    t.init = table().init;
    *exported_ = t;
    return;
  }
  Net t = table(inner_.name);
  if (inner_.regMrDmaBuf == nullptr) t.regMrDmaBuf = nullptr;
  if (inner_.iflush == nullptr) t.iflush = nullptr;
  if constexpr (requires { t.getDeviceMr; }) {
    if (inner_.getDeviceMr != nullptr) t.getDeviceMr = &Shim::getDeviceMr;
    if (inner_.irecvConsumed != nullptr) t.irecvConsumed = &Shim::irecvConsumed;
  }
  if constexpr (requires { t.makeVDevice; })
    if (inner_.makeVDevice == nullptr) t.makeVDevice = nullptr;
  if constexpr (requires { t.finalize; }) {
    if (inner_.finalize == nullptr) t.finalize = nullptr;
    // NCCL calls it before every poll, and there is nothing to see in it: straight through.
    t.setNetAttr = inner_.setNetAttr;
  }
  *exported_ = t;
}

// Finds the transport, or finds it again: an NCCL that was unloaded and loaded anew has its own.
template <class Net>
bool Shim<Net>::bind(nccl_abi::DebugLogger log, const void* caller, bool& disabled) noexcept try {
  disabled = dependencies().disabled();
  if (!disabled) {
    dependencies().start(log);
    watch_requests();
  }
  const inner::Found found = dependencies().find(caller, kVersion);
  const auto* table = static_cast<const Net*>(found.vtable);
  if (table == inner_table_ && table != nullptr) return true;
  if (!disabled) dependencies().found(found, kVersion, caller);
  if (table == nullptr) return false;
  inner_ = *table;
  inner_table_ = table;
  update_exported_table(disabled);
  return true;
} catch (...) {
  return false;
}

// HPC-X's plugin fills its table in its own init: NCCL reads the slots after that, and so do we.
// False where it did not; NCCL would crash on it.
template <class Net>
bool Shim<Net>::read_again(bool disabled) noexcept {
  const Net& now = *inner_table_;
  const bool whole = now.devices != nullptr && now.getProperties != nullptr &&
                     now.listen != nullptr && now.connect != nullptr && now.accept != nullptr;
  if (!whole || std::memcmp(&now, &inner_, sizeof now) == 0) return whole;
  inner_ = now;
  update_exported_table(disabled);
  return true;
}

template <class Net>
template <class F>
typename Shim<Net>::Result Shim<Net>::init_any(const void* caller, nccl_abi::DebugLogger log,
                                               void** ctx, std::uint64_t comm,
                                               const NetCommConfig* config, F&& call) noexcept {
  const std::lock_guard guard(init_lock_);
  bool disabled = false;
  if (!bind(log, caller, disabled)) return mask_init_failure(ctx, Result::kInternalError);
  const auto call_and_read = [&] {
    const Result rc = call();
    return rc != Result::kSuccess || read_again(disabled) ? rc : Result::kInternalError;
  };
  if (disabled) return call_and_read();
  const state::Scope scope(Call::kInit, {});
  const Result rc = call_and_read();
  context::quietly([] { dependencies().ready(); });  // judges the node where NCCL asked no verbs
  tell_comm_init(kVersion, ctx, comm, config, rc);
  state::begin_bootstrap(comm);
  return rc == Result::kSuccess ? rc : mask_init_failure(ctx, rc);
}

// A failed init would send NCCL on to another transport; where the network is refused it may not.
template <class Net>
typename Shim<Net>::Result Shim<Net>::mask_init_failure(void** ctx, Result rc) noexcept {
  if (!network_refused()) return rc;
  if (ctx != nullptr) *ctx = placeholder_context();
  return Result::kSuccess;
}

// NCCL 2.28.9 and 2.29.2 call it after a failed init too: of ours, when nothing was found, or of
// the transport, which then gets to see it as it would without us.
template <class Net>
typename Shim<Net>::Result Shim<Net>::finalize(void* ctx) noexcept {
  const void* const caller = __builtin_return_address(0);
  if (ctx == placeholder_context()) return Result::kSuccess;
  try {
    if (!bound() || !dependencies().find(caller, kVersion)) return Result::kSuccess;
  } catch (...) {
    return Result::kSuccess;
  }
  const state::Scope scope(Call::kFinalize, {});
  finalizing(kVersion, ctx);
  return inner_.finalize(ctx);
}

template <class Net>
template <class Properties>
typename Shim<Net>::Result Shim<Net>::getProperties(int dev, Properties* props) noexcept {
  const DeviceKind kind = kind_of(dev);
  if (kind == DeviceKind::kMissing) return refuse(kVersion, "getProperties", dev);
  if (kind == DeviceKind::kPlaceholder) {
    fill_placeholder(dev, *props);
    return Result::kSuccess;
  }
  if (!bound()) return Result::kInternalError;
  leave_bootstrap();
  const state::Scope scope(Call::kGetProperties, {});
  const Result rc = inner_.getProperties(dev, props);
  // NCCL may try GPUDirect out with a connection to itself before it knows that it needs a network.
  if (rc == Result::kSuccess && network_refused()) props->ptrSupport &= nccl_abi::kPtrHost;
  if (rc == Result::kSuccess) {
    try {
      learn_device(kVersion, to_device(dev, *props));
    } catch (...) {  // no memory for the event
    }
  }
  return rc;
}

}  // namespace nnd::net
