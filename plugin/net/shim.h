// The table that NCCL gets in place of the transport's: one template for net v6 to v12. Net is the
// version's table (include/nccl_abi). A function that exists with several signatures is overloaded;
// the slot's type picks the one that its version has, and only that one is compiled for it.
//
// The transport's table is copied at the first init that finds it, again where it has filled it in
// its init, and stays: NCCL 2.19 to 2.23 load us again and call devices and listen without init.
// Slots that are null in it become null in ours.
#pragma once

#include <cstddef>
#include <cstring>

#include "context/clock.h"
#include "context/fork_mutex.h"
#include "nccl_abi/net.h"
#include "net/connector.h"
#include "net/dependencies.h"
#include "net/devices.h"
#include "net/label.h"
#include "net/refusal.h"
#include "net/requests.h"
#include "state/connections.h"

namespace nnd::net {

template <class Net>
class Shim {
  using Result = nccl_abi::Result;
  using NetDeviceHandle = nccl_abi::NetDeviceHandle;
  using NetCommConfig = nccl_abi::NetCommConfig;
  using Call = state::Call;

 public:
  // What is exported before the first init: named as the transport will be, with the null slots of
  // NCCL's IB.
  static constexpr Net table(const char* name = "IB");

  // The exported table, which init corrects to what the transport has.
  static void adopt(Net& exported) noexcept { exported_ = &exported; }

  // Only for tests, which play several processes in one.
  static void forget() noexcept {
    inner_ = Net{};
    inner_table_ = nullptr;
  }

 private:
  static constexpr int kVersion = Net::kApi;

  static inline Net inner_{};
  static inline const Net* inner_table_ = nullptr;
  static inline Net* exported_ = nullptr;
  static inline context::ForkMutex init_lock_{/*held_long=*/true};

  static bool bound() noexcept { return inner_table_ != nullptr; }
  static bool awaits_consumed() noexcept {
    if constexpr (requires { inner_.irecvConsumed; })
      return inner_.irecvConsumed != nullptr;
    else
      return false;
  }

  // --- init and finalize

  static bool bind(nccl_abi::DebugLogger log, const void* caller, bool& disabled) noexcept;
  static void update_exported_table(bool disabled) noexcept;
  static bool read_again(bool disabled) noexcept;
  static Result mask_init_failure(void** ctx, Result rc) noexcept;
  // comm: 0 where the version doesn't tell. ctx: where the transport puts its context, or null.
  template <class F>
  static Result init_any(const void* caller, nccl_abi::DebugLogger log, void** ctx,
                         std::uint64_t comm, const NetCommConfig* config, F&& call) noexcept;

  static Result init(nccl_abi::DebugLogger log) noexcept {
    return init_any(__builtin_return_address(0), log, nullptr, 0, nullptr,
                    [&] { return inner_.init(log); });
  }
  static Result init(nccl_abi::DebugLogger log, nccl_abi::ProfilerCallback profiler) noexcept {
    set_profiler_callback(profiler);
    return init_any(__builtin_return_address(0), log, nullptr, 0, nullptr,
                    [&] { return inner_.init(log, profiler); });
  }
  static Result init(void** ctx, std::uint64_t comm_id, NetCommConfig* config,
                     nccl_abi::DebugLogger log, nccl_abi::ProfilerCallback profiler) noexcept {
    set_profiler_callback(profiler);
    return init_any(__builtin_return_address(0), log, ctx, comm_id, config,
                    [&] { return inner_.init(ctx, comm_id, config, log, profiler); });
  }
  static Result finalize(void* ctx) noexcept;

  // --- devices

  static Result devices(int* ndev) noexcept {
    if (!bound()) return admit_devices(Result::kInternalError, ndev);
    leave_bootstrap();
    const state::Scope scope(Call::kDevices, {});
    return admit_devices(inner_.devices(ndev), ndev);
  }
  template <class Properties>
  static Result getProperties(int dev, Properties* props) noexcept;
  template <class VDeviceProps>
  static Result makeVDevice(int* dev, VDeviceProps* props) noexcept {
    if (!bound()) return Result::kInternalError;
    const state::Scope scope(Call::kOther, {});
    return inner_.makeVDevice(dev, props);
  }
  static Result setNetAttr(void* ctx, nccl_abi::NetAttr* attr) noexcept {
    return bound() ? inner_.setNetAttr(ctx, attr) : Result::kInternalError;
  }

  // --- connections

  template <class F>
  static Result listen_any(void* ctx, int dev, void* handle, void** comm, F&& call) noexcept {
    if (network_refused()) return refuse(kVersion, "listen", dev);
    if (!bound()) return Result::kInternalError;
    ListenCall listen(kVersion, ctx, dev, handle);
    const state::Scope scope(Call::kListen, listen.about());
    const Result rc = call();
    listen.finish(rc, comm);
    return rc;
  }
  static Result listen(int dev, void* handle, void** comm) noexcept {
    return listen_any(nullptr, dev, handle, comm, [&] { return inner_.listen(dev, handle, comm); });
  }
  static Result listen(void* ctx, int dev, void* handle, void** comm) noexcept {
    return listen_any(ctx, dev, handle, comm,
                      [&] { return inner_.listen(ctx, dev, handle, comm); });
  }

  template <class F>
  static Result connect_any(void* ctx, int dev, void* handle, void** comm, F&& call) noexcept {
    if (network_refused()) return refuse(kVersion, "connect", dev);
    if (!bound()) return Result::kInternalError;
    ConnectPoll poll(kVersion, ctx, dev, handle);
    const state::Scope scope(Call::kConnect, poll.about());
    return poll.finish(call(), comm, awaits_consumed());
  }
  static Result connect(int dev, void* handle, void** comm) noexcept {
    return connect_any(nullptr, dev, handle, comm,
                       [&] { return inner_.connect(dev, handle, comm); });
  }
  static Result connect(int dev, void* handle, void** comm, NetDeviceHandle** device) noexcept {
    return connect_any(nullptr, dev, handle, comm,
                       [&] { return inner_.connect(dev, handle, comm, device); });
  }
  static Result connect(int dev, NetCommConfig* config, void* handle, void** comm,
                        NetDeviceHandle** device) noexcept {
    return connect_any(nullptr, dev, handle, comm,
                       [&] { return inner_.connect(dev, config, handle, comm, device); });
  }
  static Result connect(void* ctx, int dev, void* handle, void** comm,
                        NetDeviceHandle** device) noexcept {
    return connect_any(ctx, dev, handle, comm,
                       [&] { return inner_.connect(ctx, dev, handle, comm, device); });
  }

  template <class F>
  static Result accept_any(void* listen_comm, void** comm, F&& call) noexcept {
    if (!is_ours(listen_comm)) return call(listen_comm);
    auto& listener = *static_cast<Connection*>(listen_comm);
    AcceptPoll poll(listener);
    const state::Scope scope(Call::kAccept, poll.about());
    return poll.finish(call(listener.inner), comm, awaits_consumed());
  }
  static Result accept(void* listen_comm, void** comm) noexcept {
    return accept_any(listen_comm, comm, [&](void* inner) { return inner_.accept(inner, comm); });
  }
  static Result accept(void* listen_comm, void** comm, NetDeviceHandle** device) noexcept {
    return accept_any(listen_comm, comm,
                      [&](void* inner) { return inner_.accept(inner, comm, device); });
  }

  template <class F>
  static Result close_any(void* comm, F&& call) noexcept {
    if (!is_ours(comm)) return call(comm);
    auto& c = *static_cast<Connection*>(comm);
    const std::uint64_t began_ns = context::mono_ns();
    c.stage = state::Stage::kClosing;
    const state::Scope scope(Call::kClose, c.about);
    const Result rc = call(c.inner);
    closed(c, rc, began_ns);
    return rc;
  }
  static Result closeSend(void* comm) noexcept {
    return close_any(comm, [](void* inner) { return inner_.closeSend(inner); });
  }
  static Result closeRecv(void* comm) noexcept {
    return close_any(comm, [](void* inner) { return inner_.closeRecv(inner); });
  }
  static Result closeListen(void* comm) noexcept {
    return close_any(comm, [](void* inner) { return inner_.closeListen(inner); });
  }

  // --- memory

  template <class Size>
  static Result regMr(void* comm, void* data, Size size, int type, void** mhandle) noexcept {
    const state::Scope scope(Call::kRegMr, about(comm), type);
    const Result rc = inner_.regMr(inner_of(comm), data, size, type, mhandle);
    if (rc != Result::kSuccess) reg_failed(comm, "regMr", rc);
    return rc;
  }
  static Result regMrDmaBuf(void* comm, void* data, std::size_t size, int type,
                            std::uint64_t offset, int fd, void** mhandle) noexcept {
    const state::Scope scope(Call::kRegMrDmaBuf, about(comm), type);
    const Result rc = inner_.regMrDmaBuf(inner_of(comm), data, size, type, offset, fd, mhandle);
    if (rc != Result::kSuccess) reg_failed(comm, "regMrDmaBuf", rc);
    return rc;
  }
  static Result deregMr(void* comm, void* mhandle) noexcept {
    const state::Scope scope(Call::kDeregMr, about(comm));
    return inner_.deregMr(inner_of(comm), mhandle);
  }
  static Result getDeviceMr(void* comm, void* mhandle, void** dptr) noexcept {
    return inner_.getDeviceMr(inner_of(comm), mhandle, dptr);
  }

  // --- the data path

  static void* first_of(std::nullptr_t) noexcept { return nullptr; }
  static void* first_of(void* phandle) noexcept { return phandle; }
  static void* first_of(void** phandles) noexcept {
    return phandles == nullptr ? nullptr : phandles[0];
  }

  // A call of something that isn't ours: apart, or each healthy call would save registers for it.
  template <auto Call, class... Args>
  [[gnu::noinline, gnu::cold]] static Result of_stranger(Args... args) noexcept {
    return (inner_.*Call)(args...);
  }

  // phandle: NCCL's of the step, or those of an irecv; null before v10.
  template <class Handle, class F>
  static Result post(void* comm, void** request, RequestKind kind, std::uint64_t bytes, int buffers,
                     Handle phandle, const char* stage, F&& call) noexcept {
    auto& c = *static_cast<Connection*>(comm);
    const Result rc = call(c.inner);
    if (rc != Result::kSuccess) [[unlikely]]
      return failed(c, stage, rc);
    if (*request == nullptr) [[unlikely]] {
      state::add(c.not_taken, 1);
      if (kind == RequestKind::kSend) c.note_refused();
      return Result::kSuccess;
    }
    posted(c, request, kind, bytes, buffers);
    if (kind != RequestKind::kFlush && c.unlabelled) [[unlikely]]
      ask_whose(c, first_of(phandle));
    return Result::kSuccess;
  }

  template <class Size>
  static Result isend(void* comm, void* data, Size size, int tag, void* mhandle,
                      void** request) noexcept {
    if (!is_ours(comm)) [[unlikely]]
      return of_stranger<&Net::isend>(comm, data, size, tag, mhandle, request);
    return post(
        comm, request, RequestKind::kSend, static_cast<std::uint64_t>(size), 1, nullptr, "isend",
        [&](void* inner) { return inner_.isend(inner, data, size, tag, mhandle, request); });
  }
  static Result isend(void* comm, void* data, std::size_t size, int tag, void* mhandle,
                      void* phandle, void** request) noexcept {
    if (!is_ours(comm)) [[unlikely]]
      return of_stranger<&Net::isend>(comm, data, size, tag, mhandle, phandle, request);
    return post(comm, request, RequestKind::kSend, size, 1, phandle, "isend", [&](void* inner) {
      return inner_.isend(inner, data, size, tag, mhandle, phandle, request);
    });
  }
  template <class Size>
  static Result irecv(void* comm, int n, void** data, Size* sizes, int* tags, void** mhandles,
                      void** request) noexcept {
    if (!is_ours(comm)) [[unlikely]]
      return of_stranger<&Net::irecv>(comm, n, data, sizes, tags, mhandles, request);
    return post(comm, request, RequestKind::kRecv, 0, n, nullptr, "irecv", [&](void* inner) {
      return inner_.irecv(inner, n, data, sizes, tags, mhandles, request);
    });
  }
  static Result irecv(void* comm, int n, void** data, std::size_t* sizes, int* tags,
                      void** mhandles, void** phandles, void** request) noexcept {
    if (!is_ours(comm)) [[unlikely]]
      return of_stranger<&Net::irecv>(comm, n, data, sizes, tags, mhandles, phandles, request);
    return post(comm, request, RequestKind::kRecv, 0, n, phandles, "irecv", [&](void* inner) {
      return inner_.irecv(inner, n, data, sizes, tags, mhandles, phandles, request);
    });
  }
  static Result iflush(void* comm, int n, void** data, int* sizes, void** mhandles,
                       void** request) noexcept {
    if (!is_ours(comm)) [[unlikely]]
      return of_stranger<&Net::iflush>(comm, n, data, sizes, mhandles, request);
    return post(comm, request, RequestKind::kFlush, 0, n, nullptr, "iflush", [&](void* inner) {
      return inner_.iflush(inner, n, data, sizes, mhandles, request);
    });
  }
  static Result test(void* request, int* is_done, int* sizes) noexcept {
    if (!is_ours(request)) [[unlikely]]
      return of_stranger<&Net::test>(request, is_done, sizes);
    // Kept on the stack: most tests find nothing, and registers would have to be saved for them.
    auto* volatile kept = static_cast<Request*>(request);
    int* volatile kept_done = is_done;
    static_cast<Request*>(request)->note_test(sizes);
    const Result rc = inner_.test(static_cast<Request*>(request)->inner, is_done, sizes);
    // A sum: with an "or" the compiler would know what rc is, and load it anew.
    if (static_cast<unsigned>(rc) + static_cast<unsigned>(*kept_done) == 0) [[likely]]
      return rc;
    return tested(*kept, rc);
  }
  // NCCL says so with the request that irecv gave it, after test has called it done.
  static Result irecvConsumed(void* comm, int n, void* request) noexcept {
    if (!is_ours(request)) return inner_.irecvConsumed(inner_of(comm), n, request);
    Request& r = *static_cast<Request*>(request);
    const Result rc = inner_.irecvConsumed(inner_of(comm), n, r.inner);
    if (r.state == RequestState::kAwaitsConsumed) give_back(*r.conn, r);
    return rc;
  }
};

}  // namespace nnd::net

#include "net/shim_init.h"
