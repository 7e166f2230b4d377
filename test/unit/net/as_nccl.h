// NCCL's side, for any version: one name per slot, arguments that a version doesn't have left out.
#pragma once

#include <array>
#include <cstddef>

#include "fake_transport.h"
#include "net/dependencies.h"
#include "net/shim.h"

namespace fake {

inline void logger(nccl_abi::LogLevel, unsigned long, const char*, int, const char*, ...) {}
inline Result profiler(void**, int, void*, std::int64_t, void*) { return Result::kSuccess; }

template <class Net>
inline constexpr bool has_ctx = Net::kApi >= 11;

// A process in which NCCL has loaded the plugin; the transport that init will find is given.
template <class Net>
class AsNccl {
 public:
  static constexpr int kApi = Net::kApi;
  using Handle = std::array<std::byte, nccl_abi::kHandleSize>;

  explicit AsNccl(const Net* found = transport<Net>()) {
    state() = State{};
    nnd::net::Shim<Net>::forget();
    nnd::net::Shim<Net>::adopt(net);
    nnd::net::Dependencies& house = nnd::net::dependencies();
    house = nnd::net::Dependencies{};
    house.find = [found](const void*, int api) {
      nnd::inner::Found f;
      f.vtable = found;
      f.net_version = api;
      f.name = "IB";
      f.nccl_version = 22809;
      return f;
    };
    house.port = [](const auto& name, int port) {
      nnd::net::PortFacts known{port, {}, 2, 2};
      if (name == "fake0") known.gid[0] = 0xFD;
      return known;
    };
  }

  Result init() {
    if constexpr (kApi >= 11)
      return net.init(&ctx, 0xC0, &config, logger, profiler);
    else if constexpr (kApi == 10)
      return net.init(logger, profiler);
    else
      return net.init(logger);
  }
  Result listen(int dev, Handle& handle, void** comm) {
    if constexpr (has_ctx<Net>)
      return net.listen(ctx, dev, handle.data(), comm);
    else
      return net.listen(dev, handle.data(), comm);
  }
  Result connect(int dev, Handle& handle, void** comm) {
    if constexpr (has_ctx<Net>)
      return net.connect(ctx, dev, handle.data(), comm, &device);
    else if constexpr (kApi == 10)
      return net.connect(dev, &config, handle.data(), comm, &device);
    else if constexpr (kApi >= 7)
      return net.connect(dev, handle.data(), comm, &device);
    else
      return net.connect(dev, handle.data(), comm);
  }
  Result accept(void* listen_comm, void** comm) {
    if constexpr (kApi >= 7)
      return net.accept(listen_comm, comm, &device);
    else
      return net.accept(listen_comm, comm);
  }
  Result isend(void* comm, int size, void** request) {
    if constexpr (kApi >= 10)
      return net.isend(comm, buffer, static_cast<std::size_t>(size), 5, mhandle, phandle, request);
    else if constexpr (kApi == 9)
      return net.isend(comm, buffer, static_cast<std::size_t>(size), 5, mhandle, request);
    else
      return net.isend(comm, buffer, size, 5, mhandle, request);
  }
  Result irecv(void* comm, int n, void** request) {
    if constexpr (kApi >= 10)
      return net.irecv(comm, n, buffers, sizes, tags, mhandles, phandles, request);
    else
      return net.irecv(comm, n, buffers, sizes, tags, mhandles, request);
  }
  Result iflush(void* comm, void** request) {
    return net.iflush(comm, 1, buffers, flush_sizes, mhandles, request);
  }

  // A ready connection in each direction.
  void* send_comm() {
    Handle handle{};
    void* comm = nullptr;
    REQUIRE(connect(0, handle, &comm) == Result::kSuccess);
    REQUIRE(comm != nullptr);
    return comm;
  }
  void* recv_comm() {
    Handle handle{};
    void* listener = nullptr;
    void* comm = nullptr;
    REQUIRE(listen(0, handle, &listener) == Result::kSuccess);
    REQUIRE(accept(listener, &comm) == Result::kSuccess);
    REQUIRE(comm != nullptr);
    REQUIRE(net.closeListen(listener) == Result::kSuccess);
    return comm;
  }

  Net net = nnd::net::Shim<Net>::table();
  void* ctx = nullptr;
  nccl_abi::NetCommConfig config{3};
  nccl_abi::NetDeviceHandle* device = nullptr;
  char buffer[8] = {};
  void* mhandle = reinterpret_cast<void*>(0x77);
  void* phandle = reinterpret_cast<void*>(0x88);
  void* buffers[2] = {buffer, buffer + 4};
  std::conditional_t<(kApi >= 9), std::size_t, int> sizes[2] = {4, 4};
  int flush_sizes[2] = {4, 4};
  int tags[2] = {1, 2};
  void* mhandles[2] = {mhandle, mhandle};
  void* phandles[2] = {phandle, phandle};
};

inline const nnd::state::Connection& ours(void* comm) {
  REQUIRE(nnd::net::is_ours(comm));
  return *static_cast<nnd::state::Connection*>(comm);
}
inline std::uint64_t inner(void* comm) { return word(ours(comm).inner); }

#define NND_ALL_VERSIONS                                                                \
  nccl_abi::NetV6, nccl_abi::NetV7, nccl_abi::NetV8, nccl_abi::NetV9, nccl_abi::NetV10, \
      nccl_abi::NetV11, nccl_abi::NetV12

}  // namespace fake
