// ncclProfiler_v3_t: what NCCL 2.26 asks a profiler for first. New over v2: events of the net
// plugin and of kernels. Source: NCCL v2.26.2-1 src/include/plugin/profiler/profiler_v3.h.
#pragma once

#include "nccl_abi/profiler_v2.h"

namespace nccl_abi {

struct ProfilerCollV3 {
  const char* name;  // the communicator's, as its user gave it; null: none
  std::uint64_t commHash;
  std::uint64_t seqNumber;
  const char* func;
  const void* sendBuff;
  void* recvBuff;
  std::size_t count;
  int root;
  const char* datatype;
  std::uint8_t nMaxChannels;
  std::uint8_t nWarps;
  const char* algo;
  const char* proto;
};
struct ProfilerKernelChV3 {
  std::uint8_t channelId;
};

struct ProfilerEventDescrV3 {
  std::uint8_t type;
  void* parentObj;
  int rank;
  union {
    ProfilerCollV3 coll;
    ProfilerP2pV2 p2p;
    ProfilerProxyOp proxyOp;
    ProfilerProxyStep proxyStep;
    ProfilerKernelChV3 kernelCh;
    ProfilerNetPlugin netPlugin;
  };
};
static_assert(sizeof(ProfilerEventDescrV3) == 120);

using ProfilerV3 =
    ProfilerTable<3, slot::ProfilerInit1, ProfilerEventDescrV3, ProfilerEventStateArgsV1>;

}  // namespace nccl_abi
