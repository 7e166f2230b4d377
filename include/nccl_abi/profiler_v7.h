// ncclProfiler_v7_t: what NCCL 2.31 and 2.32 ask a profiler for first. New over v6: a tag of the
// user's, symmetric kernels, phases of kernels. Source: the DWARF of libnccl.so.2 2.31.2 and
// 2.32.3.
#pragma once

#include "nccl_abi/profiler_common.h"

namespace nccl_abi {

struct ProfilerCollApiV7 {
  const char* func;
  std::size_t count;
  const char* datatype;
  int root;
  void* stream;
  bool graphCaptured;
  std::uint64_t userTag;
};
struct ProfilerP2pApiV7 {
  const char* func;
  std::size_t count;
  const char* datatype;
  void* stream;
  bool graphCaptured;
  std::uint64_t userTag;
};
struct ProfilerCollV7 {
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
  const char* kernelVariant;
  bool isSymColl;
  std::uint64_t userTag;
};
struct ProfilerP2pV7 {
  const char* func;
  void* buff;
  const char* datatype;
  std::size_t count;
  int peer;
  std::uint8_t nChannels;
  void* parentGroup;
  std::uint64_t userTag;
};
struct ProfilerCeCollV7 {
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
  std::uint64_t userTag;
};
struct ProfilerKernelPhase {
  std::uint8_t channelId;
  std::uint8_t phaseId;
  const char* phaseName;
  std::uint64_t pTimer;
};

struct ProfilerEventDescrV7 {
  std::uint64_t type;
  void* parentObj;
  int rank;
  union {
    ProfilerGroupApi groupApi;
    ProfilerCollApiV7 collApi;
    ProfilerP2pApiV7 p2pApi;
    ProfilerKernelLaunch kernelLaunch;
    ProfilerCollV7 coll;
    ProfilerP2pV7 p2p;
    ProfilerProxyOp proxyOp;
    ProfilerProxyStep proxyStep;
    ProfilerKernelCh kernelCh;
    ProfilerNetPlugin netPlugin;
    ProfilerCeCollV7 ceColl;
    ProfilerCeCollSync ceCollSync;
    ProfilerCeCollBatch ceCollBatch;
    ProfilerKernelPhase kernelPhase;
  };
};
static_assert(sizeof(ProfilerEventDescrV7) == 136);

using ProfilerV7 =
    ProfilerTable<7, slot::ProfilerInit5, ProfilerEventDescrV7, ProfilerEventStateArgsV4>;

}  // namespace nccl_abi
