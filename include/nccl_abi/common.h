// What all versions of NCCL's net API share. Our own declarations of NCCL's ABI; members keep
// NCCL's spelling, so that they can be compared with the debug information of an official library.
// Sources: NCCL v2.18.3-1 src/include/nccl_net.h; v2.30.7-1 src/include/plugin/nccl_net.h,
// src/include/nccl_common.h, src/include/nccl_device/net_device.h, src/nccl.h.in; for 2.31 and 2.32
// the DWARF of the official libnccl.so.2. All structs are for 64-bit Linux (LP64).
#pragma once

#include <cstddef>
#include <cstdint>

namespace nccl_abi {

// ncclResult_t. A plugin may return values that are not listed; they are passed on as they are.
enum class Result : int {
  kSuccess = 0,
  kUnhandledCudaError = 1,
  kSystemError = 2,
  kInternalError = 3,
  kInvalidArgument = 4,
  kInvalidUsage = 5,
  kRemoteError = 6,
  kInProgress = 7,
  kTimeout = 8,  // 2.30.7
};

enum class LogLevel : int { kNone = 0, kVersion = 1, kWarn = 2, kInfo = 3, kAbort = 4, kTrace = 5 };

// Bits of a log line's flags (ncclDebugLogSubSys).
inline constexpr unsigned long kLogInit = 0x1;
inline constexpr unsigned long kLogNet = 0x10;

using DebugLogger = void (*)(LogLevel level, unsigned long flags, const char* file, int line,
                             const char* fmt, ...);

// ncclProfilerCallback_t, from net v10 (v2.26.2-1 src/include/plugin/nccl_net.h).
using ProfilerCallback = Result (*)(void** event_handle, int type, void* parent_handle,
                                    std::int64_t plugin_id, void* ext_data);
// Its type for the start of an event (v2.26.2-1 src/plugin/profiler.cc, ncclProfilerCallback).
inline constexpr int kProfilerNetEventStart = 0;

// NCCL_NET_HANDLE_MAXSIZE: bytes of the handle that listen fills and connect reads.
inline constexpr std::size_t kHandleSize = 128;
// What the connecting side's own transport keeps in the handle of IB's listen: its state and
// pointers of its process (ncclIbHandle's stage, v2.18.3-1 src/transport/net_ib.cc and v2.30.7-1
// src/transport/net_ib/connect.cc). listen leaves it zero.
inline constexpr std::size_t kIbStageAt = 40;
inline constexpr std::size_t kIbStageSize = 24;

// NCCL_PTR_*: memory types, as bits in ptrSupport and as the type of regMr.
inline constexpr int kPtrHost = 0x1;
inline constexpr int kPtrCuda = 0x2;
inline constexpr int kPtrDmaBuf = 0x4;

// *request of irecv on entry, from v9 (NCCL 2.24): the receiver doesn't need the completion.
inline constexpr std::uintptr_t kOptionalRecvCompletion = 0x1;

// NCCL_NET_MAX_REQUESTS: requests that NCCL keeps in flight per connection (32 from 2.19, 8 in v6).
inline constexpr int kMaxRequests = 32;

// NCCL_NET_TRAFFIC_CLASS_UNDEF, NCCL_NET_ATTR_UNDEF and NCCL_NET_ID_UNDEF.
inline constexpr int kUndefined = -1;

enum class NetDeviceType : int { kHost = 0, kUnpack = 1, kGinProxy = 2, kGinGdaki = 3 };

// ncclNetDeviceHandle_v7_t ... _v12_t: one layout.
struct NetDeviceHandle {
  NetDeviceType netDeviceType;
  int netDeviceVersion;
  void* handle;
  std::size_t size;
  int needsProxyProgress;
};
static_assert(sizeof(NetDeviceHandle) == 32);
static_assert(offsetof(NetDeviceHandle, needsProxyProgress) == 24);

// ncclNetVDeviceProps_vN_t: the devices that a virtual one is made of. At most 4 in v9 ... v11, 8
// in v12.
template <int kMaxDevs>
struct NetVDeviceProps {
  static constexpr int kMax = kMaxDevs;
  int ndevs;
  int devs[kMaxDevs];
};
static_assert(sizeof(NetVDeviceProps<4>) == 20);
static_assert(sizeof(NetVDeviceProps<8>) == 36);

// ncclNetCommConfig_v10_t ... _v12_t.
struct NetCommConfig {
  int trafficClass;
};
static_assert(sizeof(NetCommConfig) == 4);

// ncclNetCommAttr_v11_t and ncclNetAttr_v11_t, the same in v12.
struct NetCommAttr {
  std::int32_t maxConcurrentPeers;
  std::int32_t minConcurrentPeers;
  std::int32_t maxFlowsPerPeer;
  std::int32_t minFlowsPerPeer;
};
struct NetAttr {
  NetCommAttr sendCommAttr;
  NetCommAttr recvCommAttr;
  std::uint32_t op;
  std::uint32_t algo;
  std::uint32_t proto;
};
static_assert(sizeof(NetAttr) == 44);
static_assert(offsetof(NetAttr, op) == 32);

// Signatures that several versions share, named after the slot. Numbers tell the first version that
// has the form; each net_vN.h puts its table together from them.
namespace slot {
using Init6 = Result(DebugLogger log);
using Init10 = Result(DebugLogger log, ProfilerCallback profiler);
using Init11 = Result(void** ctx, std::uint64_t comm_id, NetCommConfig* config, DebugLogger log,
                      ProfilerCallback profiler);
using Devices = Result(int* ndev);
template <class Properties>
using GetProperties = Result(int dev, Properties* props);
using Listen6 = Result(int dev, void* handle, void** listen_comm);
using Listen11 = Result(void* ctx, int dev, void* handle, void** listen_comm);
using Connect6 = Result(int dev, void* handle, void** send_comm);
using Connect7 = Result(int dev, void* handle, void** send_comm, NetDeviceHandle** send_dev_comm);
using Connect10 = Result(int dev, NetCommConfig* config, void* handle, void** send_comm,
                         NetDeviceHandle** send_dev_comm);
using Connect11 = Result(void* ctx, int dev, void* handle, void** send_comm,
                         NetDeviceHandle** send_dev_comm);
using Accept6 = Result(void* listen_comm, void** recv_comm);
using Accept7 = Result(void* listen_comm, void** recv_comm, NetDeviceHandle** recv_dev_comm);
using RegMr6 = Result(void* comm, void* data, int size, int type, void** mhandle);
using RegMr8 = Result(void* comm, void* data, std::size_t size, int type, void** mhandle);
using RegMrDmaBuf = Result(void* comm, void* data, std::size_t size, int type, std::uint64_t offset,
                           int fd, void** mhandle);
using DeregMr = Result(void* comm, void* mhandle);
using Isend6 = Result(void* send_comm, void* data, int size, int tag, void* mhandle,
                      void** request);
using Isend9 = Result(void* send_comm, void* data, std::size_t size, int tag, void* mhandle,
                      void** request);
using Isend10 = Result(void* send_comm, void* data, std::size_t size, int tag, void* mhandle,
                       void* phandle, void** request);
using Irecv6 = Result(void* recv_comm, int n, void** data, int* sizes, int* tags, void** mhandles,
                      void** request);
using Irecv9 = Result(void* recv_comm, int n, void** data, std::size_t* sizes, int* tags,
                      void** mhandles, void** request);
using Irecv10 = Result(void* recv_comm, int n, void** data, std::size_t* sizes, int* tags,
                       void** mhandles, void** phandles, void** request);
using Iflush = Result(void* recv_comm, int n, void** data, int* sizes, void** mhandles,
                      void** request);
using Test = Result(void* request, int* done, int* sizes);
using Close = Result(void* comm);
using GetDeviceMr = Result(void* comm, void* mhandle, void** dptr_mhandle);
using IrecvConsumed = Result(void* recv_comm, int n, void* request);
template <class VDeviceProps>
using MakeVDevice = Result(int* dev, VDeviceProps* props);
using Finalize = Result(void* ctx);
using SetNetAttr = Result(void* ctx, NetAttr* attr);
}  // namespace slot

}  // namespace nccl_abi
