// ncclProfiler_v6_t: what NCCL 2.29 and 2.30 ask a profiler for first. New over v5: collectives by
// the copy engine. Source: NCCL v2.30.7-1 src/include/plugin/profiler/profiler_v6.h.
#pragma once

#include "nccl_abi/profiler_v5.h"

namespace nccl_abi {

struct ProfilerCeCollV6 {
  std::uint64_t seqNumber;
  const char* func;
  const void* sendBuff;
  void* recvBuff;
  std::size_t count;
  int root;
  const char* datatype;
  const char* syncStrategy;
  bool intraBatchSync;
  std::uint32_t batchSize;
  std::uint32_t numBatches;
  std::uint32_t ceSeqNum;
  void* stream;
};

struct ProfilerEventDescrV6 {
  std::uint64_t type;
  void* parentObj;
  int rank;
  union {
    ProfilerGroupApi groupApi;
    ProfilerCollApiV5 collApi;
    ProfilerP2pApiV5 p2pApi;
    ProfilerKernelLaunch kernelLaunch;
    ProfilerCollV5 coll;
    ProfilerP2pV5 p2p;
    ProfilerProxyOp proxyOp;
    ProfilerProxyStep proxyStep;
    ProfilerKernelCh kernelCh;
    ProfilerNetPlugin netPlugin;
    ProfilerCeCollV6 ceColl;
    ProfilerCeCollSync ceCollSync;
    ProfilerCeCollBatch ceCollBatch;
  };
};
static_assert(sizeof(ProfilerEventDescrV6) == 112);

using ProfilerV6 =
    ProfilerTable<6, slot::ProfilerInit5, ProfilerEventDescrV6, ProfilerEventStateArgsV4>;

}  // namespace nccl_abi
