// ncclNet_v10_t: what NCCL 2.26.2 ... 2.27.7 uses for its own transports and asks a plugin for
// first. New over v9: profiler callback and phandles, the communicator's configuration in connect.
// Source: NCCL v2.27.7-1 src/include/plugin/net/net_v10.h.
#pragma once

#include "nccl_abi/common.h"

namespace nccl_abi {

struct NetPropertiesV10 {
  char* name;          // owned by the plugin
  char* pciPath;       // in /sys; null for a device without one
  std::uint64_t guid;  // the same for all functions of one chip
  int ptrSupport;      // bits kPtr*
  int regIsGlobal;     // an MR is good for all comms of the device
  int forceFlush;      // flush even where the GPU doesn't need it
  int speed;           // Mbit/s
  int port;
  float latency;  // microseconds
  int maxComms;   // connections
  int maxRecvs;   // buffers in one irecv
  NetDeviceType netDeviceType;
  int netDeviceVersion;
  NetVDeviceProps<4> vProps;
  std::size_t maxP2pBytes;   // bytes
  std::size_t maxCollBytes;  // bytes
};
static_assert(sizeof(NetPropertiesV10) == 104);
static_assert(offsetof(NetPropertiesV10, speed) == 36);
static_assert(offsetof(NetPropertiesV10, netDeviceType) == 56);
static_assert(offsetof(NetPropertiesV10, vProps) == 64);
static_assert(offsetof(NetPropertiesV10, maxP2pBytes) == 88);
static_assert(offsetof(NetPropertiesV10, maxCollBytes) == 96);

using NetVDevicePropsV10 = NetVDeviceProps<4>;

// In the order of the table.
struct NetV10 {
  static constexpr int kApi = 10;
  const char* name;
  slot::Init10* init;
  slot::Devices* devices;
  slot::GetProperties<NetPropertiesV10>* getProperties;
  slot::Listen6* listen;
  slot::Connect10* connect;
  slot::Accept7* accept;
  slot::RegMr8* regMr;
  slot::RegMrDmaBuf* regMrDmaBuf;  // null where the transport has no DMA-BUF
  slot::DeregMr* deregMr;
  slot::Isend10* isend;
  slot::Irecv10* irecv;
  slot::Iflush* iflush;
  slot::Test* test;
  slot::Close* closeSend;
  slot::Close* closeRecv;
  slot::Close* closeListen;
  slot::GetDeviceMr* getDeviceMr;
  slot::IrecvConsumed* irecvConsumed;
  slot::MakeVDevice<NetVDevicePropsV10>* makeVDevice;
};
static_assert(sizeof(NetV10) == 160);
static_assert(offsetof(NetV10, test) == 104);
static_assert(offsetof(NetV10, makeVDevice) == 152);

}  // namespace nccl_abi
