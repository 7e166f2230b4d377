// ncclProfiler_v4_t: what NCCL 2.27 asks a profiler for first. New over v3: init is told the
// communicator, which the events no longer name. Source: NCCL v2.27.7-1
// src/include/plugin/profiler/profiler_v4.h.
#pragma once

#include "nccl_abi/profiler_common.h"

namespace nccl_abi {

struct ProfilerCollV4 {
  std::uint64_t seqNumber;
  const char* func;
  const void* sendBuff;
  void* recvBuff;
  std::size_t count;
  int root;
  const char* datatype;
  std::uint8_t nChannels;
  std::uint8_t nWarps;
  const char* algo;
  const char* proto;
};
struct ProfilerP2pV4 {
  const char* func;
  void* buff;
  const char* datatype;
  std::size_t count;
  int peer;
  std::uint8_t nChannels;
};

struct ProfilerEventDescrV4 {
  std::uint8_t type;
  void* parentObj;
  int rank;
  union {
    ProfilerCollV4 coll;
    ProfilerP2pV4 p2p;
    ProfilerProxyOp proxyOp;
    ProfilerProxyStep proxyStep;
    ProfilerKernelCh kernelCh;
    ProfilerNetPlugin netPlugin;
  };
};
static_assert(sizeof(ProfilerEventDescrV4) == 104);

using ProfilerV4 =
    ProfilerTable<4, slot::ProfilerInit4, ProfilerEventDescrV4, ProfilerEventStateArgsV4>;

}  // namespace nccl_abi
