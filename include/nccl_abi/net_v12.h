// ncclNet_v12_t: what NCCL 2.30.3 ... 2.32.3 uses for its own transports and asks a plugin for
// first. New over v11: up to 8 devices in a virtual one, railId, planeId. Source: NCCL v2.30.7-1
// src/include/plugin/net/net_v12.h, and the DWARF of libnccl.so.2 2.32.3.
#pragma once

#include "nccl_abi/common.h"

namespace nccl_abi {

struct NetPropertiesV12 {
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
  NetVDeviceProps<8> vProps;
  std::size_t maxP2pBytes;   // bytes
  std::size_t maxCollBytes;  // bytes
  int maxMultiRequestSize;
  std::int16_t railId;
  std::int16_t planeId;
};
static_assert(sizeof(NetPropertiesV12) == 128);
static_assert(offsetof(NetPropertiesV12, speed) == 36);
static_assert(offsetof(NetPropertiesV12, netDeviceType) == 56);
static_assert(offsetof(NetPropertiesV12, vProps) == 64);
static_assert(offsetof(NetPropertiesV12, maxP2pBytes) == 104);
static_assert(offsetof(NetPropertiesV12, planeId) == 126);

using NetVDevicePropsV12 = NetVDeviceProps<8>;

// In the order of the table.
struct NetV12 {
  static constexpr int kApi = 12;
  const char* name;
  slot::Init11* init;
  slot::Devices* devices;
  slot::GetProperties<NetPropertiesV12>* getProperties;
  slot::Listen11* listen;
  slot::Connect11* connect;
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
  slot::MakeVDevice<NetVDevicePropsV12>* makeVDevice;
  slot::Finalize* finalize;
  slot::SetNetAttr* setNetAttr;
};
static_assert(sizeof(NetV12) == 176);
static_assert(offsetof(NetV12, test) == 104);
static_assert(offsetof(NetV12, setNetAttr) == 168);

}  // namespace nccl_abi
