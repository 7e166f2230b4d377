// What all versions of NCCL's profiler API share. Our own declarations of NCCL's ABI; members keep
// NCCL's spelling, so that they can be compared with the debug information of an official library.
// Sources: NCCL v2.23.4-1 src/include/nccl_profiler.h; v2.30.7-1
// src/include/plugin/nccl_profiler.h and src/include/plugin/profiler/profiler_v1.h ...
// profiler_v6.h; for 2.31 and 2.32 the DWARF of the official libnccl.so.2. All structs are for
// 64-bit Linux (LP64).
#pragma once

#include "nccl_abi/common.h"

namespace nccl_abi {

// ncclProfile*: kinds of events, as bits in the activation mask and as the type of a descriptor.
namespace profile {
inline constexpr int kGroup = 1 << 0;
inline constexpr int kColl = 1 << 1;
inline constexpr int kP2p = 1 << 2;
inline constexpr int kProxyOp = 1 << 3;
inline constexpr int kProxyStep = 1 << 4;
inline constexpr int kProxyCtrl = 1 << 5;
inline constexpr int kKernelCh = 1 << 6;       // v3
inline constexpr int kNetPlugin = 1 << 7;      // v3
inline constexpr int kGroupApi = 1 << 8;       // v5
inline constexpr int kCollApi = 1 << 9;        // v5
inline constexpr int kP2pApi = 1 << 10;        // v5
inline constexpr int kKernelLaunch = 1 << 11;  // v5
inline constexpr int kCeColl = 1 << 12;        // v6
inline constexpr int kCeSync = 1 << 13;        // v6
inline constexpr int kCeBatch = 1 << 14;       // v6
}  // namespace profile

// ncclProfilerEventState_t, of those the ones that are read here. The states of a proxy operation
// are told up to v3, those of a step in all versions.
enum class ProfilerState : int {
  kProxyOpSendTransmitted = 2,
  kProxyOpRecvPosted = 4,
  kProxyStepSendGpuWait = 8,
  kProxyStepSendWait = 9,
  kProxyStepRecvWait = 10,
  kProxyStepRecvFlushWait = 11,
  kProxyStepRecvGpuWait = 12,
  kProxyStepSendPeerWait = 20,  // v4
};

struct ProfilerProxyOp {
  int pid;  // of the process whose collective it is
  std::uint8_t channelId;
  int peer;  // rank
  int nSteps;
  int chunkSize;  // bytes
  int isSend;
};
struct ProfilerProxyStep {
  int step;
};
struct ProfilerNetPlugin {  // v3
  std::int64_t id;
  void* data;
};
struct ProfilerKernelCh {  // v4
  std::uint8_t channelId;
  std::uint64_t pTimer;
};
struct ProfilerGroupApi {  // v5
  bool graphCaptured;
  int groupDepth;
};
struct ProfilerKernelLaunch {  // v5
  void* stream;
};
struct ProfilerCeCollSync {  // v6
  bool isComplete;
  int nRanks;
};
struct ProfilerCeCollBatch {  // v6
  int numOps;
  std::size_t totalBytes;
  bool useIntraSync;
};

// ncclProfilerEventStateArgs_v1_t ... _v3_t, and _v4_t ... _v7_t: one layout each.
struct ProfilerProgress {
  std::size_t transSize;
  int steps;
};
struct ProfilerAppended {
  int appendedProxyOps;
};
union ProfilerEventStateArgsV1 {
  ProfilerProgress proxyOp;
  ProfilerAppended proxyCtrl;
};
struct ProfilerTransferred {
  std::size_t transSize;
};
struct ProfilerNetUpdate {
  void* data;
};
struct ProfilerKernelStop {
  std::uint64_t pTimer;
};
union ProfilerEventStateArgsV4 {
  ProfilerTransferred proxyStep;
  ProfilerAppended proxyCtrl;
  ProfilerNetUpdate netPlugin;
  ProfilerKernelStop kernelCh;
};
static_assert(sizeof(ProfilerEventStateArgsV1) == 16 && sizeof(ProfilerEventStateArgsV4) == 8);

// The table, as all versions have it but for two signatures.
template <int Api, class InitSlot, class EventDescr, class EventStateArgs>
struct ProfilerTable {
  static constexpr int kApi = Api;
  using Descr = EventDescr;
  using StateArgs = EventStateArgs;
  const char* name;
  InitSlot* init;
  Result (*startEvent)(void* context, void** handle, EventDescr* descr);
  Result (*stopEvent)(void* handle);
  Result (*recordEventState)(void* handle, ProfilerState state, EventStateArgs* args);
  Result (*finalize)(void* context);
};

// Signatures of init. Numbers tell the first version that has the form.
namespace slot {
using ProfilerInit1 = Result(void** context, int* activation_mask);
using ProfilerInit4 = Result(void** context, int* activation_mask, const char* comm_name,
                             std::uint64_t comm_hash, int nodes, int ranks, int rank,
                             DebugLogger log);
using ProfilerInit5 = Result(void** context, std::uint64_t comm_hash, int* activation_mask,
                             const char* comm_name, int nodes, int ranks, int rank,
                             DebugLogger log);
}  // namespace slot

}  // namespace nccl_abi
