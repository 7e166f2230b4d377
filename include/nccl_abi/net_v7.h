// ncclNet_v7_t: what NCCL 2.19.1 ... 2.19.4 uses for its own transports and asks a plugin for
// first. New over v6: device offload (device handles, getDeviceMr, irecvConsumed). Source: NCCL
// v2.19.3-1 src/include/nccl_net.h.
#pragma once

#include "nccl_abi/common.h"

namespace nccl_abi {

struct NetPropertiesV7 {
  char* name;          // owned by the plugin
  char* pciPath;       // in /sys; null for a device without one
  std::uint64_t guid;  // the same for all functions of one chip
  int ptrSupport;      // bits kPtr*
  int speed;           // Mbit/s
  int port;
  float latency;  // microseconds
  int maxComms;   // connections
  int maxRecvs;   // buffers in one irecv
  NetDeviceType netDeviceType;
  int netDeviceVersion;
};
static_assert(sizeof(NetPropertiesV7) == 56);
static_assert(offsetof(NetPropertiesV7, speed) == 28);
static_assert(offsetof(NetPropertiesV7, netDeviceType) == 48);
static_assert(offsetof(NetPropertiesV7, netDeviceVersion) == 52);

// In the order of the table.
struct NetV7 {
  static constexpr int kApi = 7;
  const char* name;
  slot::Init6* init;
  slot::Devices* devices;
  slot::GetProperties<NetPropertiesV7>* getProperties;
  slot::Listen6* listen;
  slot::Connect7* connect;
  slot::Accept7* accept;
  slot::RegMr6* regMr;
  slot::RegMrDmaBuf* regMrDmaBuf;  // null where the transport has no DMA-BUF
  slot::DeregMr* deregMr;
  slot::Isend6* isend;
  slot::Irecv6* irecv;
  slot::Iflush* iflush;
  slot::Test* test;
  slot::Close* closeSend;
  slot::Close* closeRecv;
  slot::Close* closeListen;
  slot::GetDeviceMr* getDeviceMr;
  slot::IrecvConsumed* irecvConsumed;
};
static_assert(sizeof(NetV7) == 152);
static_assert(offsetof(NetV7, test) == 104);
static_assert(offsetof(NetV7, irecvConsumed) == 144);

}  // namespace nccl_abi
