// ncclProfiler_v2_t: what NCCL 2.24 and 2.25 ask a profiler for first. New over v1: texts in place
// of numbers. Source: NCCL v2.25.1-1 src/include/nccl_profiler.h.
#pragma once

#include "nccl_abi/profiler_common.h"

namespace nccl_abi {

struct ProfilerCollV2 {
  const char* name;  // the communicator's, as its user gave it; null: none
  std::uint64_t commHash;
  std::uint64_t seqNumber;
  const char* func;
  const void* sendBuff;
  void* recvBuff;
  std::size_t count;
  int root;
  const char* datatype;
  std::size_t trafficBytes;
  std::uint8_t nMaxChannels;
  std::uint8_t nWarps;
  const char* algo;
  const char* proto;
};
struct ProfilerP2pV2 {
  const char* name;
  std::uint64_t commHash;
  const char* func;
  void* buff;
  const char* datatype;
  std::size_t count;
  int peer;
};

struct ProfilerEventDescrV2 {
  std::uint8_t type;
  void* parentObj;
  int rank;
  union {
    ProfilerCollV2 coll;
    ProfilerP2pV2 p2p;
    ProfilerProxyOp proxyOp;
    ProfilerProxyStep proxyStep;
  };
};
static_assert(sizeof(ProfilerEventDescrV2) == 128);

using ProfilerV2 =
    ProfilerTable<2, slot::ProfilerInit1, ProfilerEventDescrV2, ProfilerEventStateArgsV1>;

}  // namespace nccl_abi
