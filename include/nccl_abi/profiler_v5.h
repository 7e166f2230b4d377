// ncclProfiler_v5_t: what NCCL 2.28 asks a profiler for first. New over v4: events of the calls
// themselves, and the type is wider. Source: NCCL v2.28.9-1
// src/include/plugin/profiler/profiler_v5.h.
#pragma once

#include "nccl_abi/profiler_common.h"

namespace nccl_abi {

struct ProfilerCollApiV5 {
  const char* func;
  std::size_t count;
  const char* datatype;
  int root;
  void* stream;
  bool graphCaptured;
};
struct ProfilerP2pApiV5 {
  const char* func;
  std::size_t count;
  const char* datatype;
  void* stream;
  bool graphCaptured;
};
struct ProfilerCollV5 {
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
  void* parentGroup;
};
struct ProfilerP2pV5 {
  const char* func;
  void* buff;
  const char* datatype;
  std::size_t count;
  int peer;
  std::uint8_t nChannels;
  void* parentGroup;
};

struct ProfilerEventDescrV5 {
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
  };
};
static_assert(sizeof(ProfilerEventDescrV5) == 112);

using ProfilerV5 =
    ProfilerTable<5, slot::ProfilerInit5, ProfilerEventDescrV5, ProfilerEventStateArgsV4>;

}  // namespace nccl_abi
