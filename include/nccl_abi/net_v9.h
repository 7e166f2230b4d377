// ncclNet_v9_t: what NCCL 2.24.3, 2.25.1 uses for its own transports and asks a plugin for first.
// New over v8: virtual devices, forceFlush, limits of a transfer, sizes of isend and irecv are
// size_t. Source: NCCL v2.25.1-1 src/include/nccl_net.h; the same as v2.30.7-1
// src/include/plugin/net/net_v9.h.
#pragma once

#include "nccl_abi/common.h"

namespace nccl_abi {

struct NetPropertiesV9 {
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
static_assert(sizeof(NetPropertiesV9) == 104);
static_assert(offsetof(NetPropertiesV9, speed) == 36);
static_assert(offsetof(NetPropertiesV9, netDeviceType) == 56);
static_assert(offsetof(NetPropertiesV9, vProps) == 64);
static_assert(offsetof(NetPropertiesV9, maxP2pBytes) == 88);
static_assert(offsetof(NetPropertiesV9, maxCollBytes) == 96);

using NetVDevicePropsV9 = NetVDeviceProps<4>;

// In the order of the table.
struct NetV9 {
  static constexpr int kApi = 9;
  const char* name;
  slot::Init6* init;
  slot::Devices* devices;
  slot::GetProperties<NetPropertiesV9>* getProperties;
  slot::Listen6* listen;
  slot::Connect7* connect;
  slot::Accept7* accept;
  slot::RegMr8* regMr;
  slot::RegMrDmaBuf* regMrDmaBuf;  // null where the transport has no DMA-BUF
  slot::DeregMr* deregMr;
  slot::Isend9* isend;
  slot::Irecv9* irecv;
  slot::Iflush* iflush;
  slot::Test* test;
  slot::Close* closeSend;
  slot::Close* closeRecv;
  slot::Close* closeListen;
  slot::GetDeviceMr* getDeviceMr;
  slot::IrecvConsumed* irecvConsumed;
  slot::MakeVDevice<NetVDevicePropsV9>* makeVDevice;
};
static_assert(sizeof(NetV9) == 160);
static_assert(offsetof(NetV9, test) == 104);
static_assert(offsetof(NetV9, makeVDevice) == 152);

}  // namespace nccl_abi
