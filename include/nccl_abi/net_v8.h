// ncclNet_v8_t: what NCCL 2.20.3 ... 2.23.4 uses for its own transports and asks a plugin for
// first. New over v7: regIsGlobal, regMr's size is a size_t. Source: NCCL v2.23.4-1
// src/include/nccl_net.h.
#pragma once

#include "nccl_abi/common.h"

namespace nccl_abi {

struct NetPropertiesV8 {
  char* name;          // owned by the plugin
  char* pciPath;       // in /sys; null for a device without one
  std::uint64_t guid;  // the same for all functions of one chip
  int ptrSupport;      // bits kPtr*
  int regIsGlobal;     // an MR is good for all comms of the device
  int speed;           // Mbit/s
  int port;
  float latency;  // microseconds
  int maxComms;   // connections
  int maxRecvs;   // buffers in one irecv
  NetDeviceType netDeviceType;
  int netDeviceVersion;
};
static_assert(sizeof(NetPropertiesV8) == 64);
static_assert(offsetof(NetPropertiesV8, speed) == 32);
static_assert(offsetof(NetPropertiesV8, netDeviceType) == 52);
static_assert(offsetof(NetPropertiesV8, netDeviceVersion) == 56);

// In the order of the table.
struct NetV8 {
  static constexpr int kApi = 8;
  const char* name;
  slot::Init6* init;
  slot::Devices* devices;
  slot::GetProperties<NetPropertiesV8>* getProperties;
  slot::Listen6* listen;
  slot::Connect7* connect;
  slot::Accept7* accept;
  slot::RegMr8* regMr;
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
static_assert(sizeof(NetV8) == 152);
static_assert(offsetof(NetV8, test) == 104);
static_assert(offsetof(NetV8, irecvConsumed) == 144);

}  // namespace nccl_abi
