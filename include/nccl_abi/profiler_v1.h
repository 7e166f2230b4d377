// ncclProfiler_v1_t: what NCCL 2.23 asks a profiler for. Functions, types, algorithms and
// protocols are numbers. Source: NCCL v2.23.4-1 src/include/nccl_profiler.h.
#pragma once

#include "nccl_abi/profiler_common.h"

namespace nccl_abi {

struct ProfilerCollV1 {
  const char* name;  // the communicator's, as its user gave it; null: none
  std::uint64_t commHash;
  std::uint64_t seqNumber;
  std::uint8_t func;  // ncclFunc_t
  const void* sendBuff;
  void* recvBuff;
  std::size_t count;
  int root;
  std::uint8_t datatype;  // ncclDataType_t
  std::uint32_t op;
  std::size_t trafficBytes;
  std::uint8_t nMaxChannels;
  std::uint8_t nWarps;
  std::uint8_t algo;   // NCCL_ALGO_*
  std::uint8_t proto;  // NCCL_PROTO_*
  int isCollnet;
  int isNvls;
};
struct ProfilerP2pV1 {
  const char* name;
  std::uint64_t commHash;
  std::uint8_t func;
  void* buff;
  std::uint8_t datatype;
  std::size_t count;
  int peer;
};

struct ProfilerEventDescrV1 {
  std::uint8_t type;
  void* parentObj;
  int rank;
  union {
    ProfilerCollV1 coll;
    ProfilerP2pV1 p2p;
    ProfilerProxyOp proxyOp;
    ProfilerProxyStep proxyStep;
  };
};
static_assert(sizeof(ProfilerEventDescrV1) == 120);
static_assert(offsetof(ProfilerEventDescrV1, coll) == 24);

using ProfilerV1 =
    ProfilerTable<1, slot::ProfilerInit1, ProfilerEventDescrV1, ProfilerEventStateArgsV1>;

}  // namespace nccl_abi
