// ncclNet_v11_t: what NCCL 2.28.3 ... 2.29.7 uses for its own transports and asks a plugin for
// first. New over v10: a context per communicator, finalize, setNetAttr, maxMultiRequestSize.
// Source: NCCL v2.28.9-1 src/include/plugin/net/net_v11.h.
#pragma once

#include "nccl_abi/common.h"

namespace nccl_abi {

struct NetPropertiesV11 {
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
  int maxMultiRequestSize;
};
static_assert(sizeof(NetPropertiesV11) == 112);
static_assert(offsetof(NetPropertiesV11, speed) == 36);
static_assert(offsetof(NetPropertiesV11, netDeviceType) == 56);
static_assert(offsetof(NetPropertiesV11, vProps) == 64);
static_assert(offsetof(NetPropertiesV11, maxP2pBytes) == 88);
static_assert(offsetof(NetPropertiesV11, maxMultiRequestSize) == 104);

using NetVDevicePropsV11 = NetVDeviceProps<4>;

// In the order of the table.
struct NetV11 {
  static constexpr int kApi = 11;
  const char* name;
  slot::Init11* init;
  slot::Devices* devices;
  slot::GetProperties<NetPropertiesV11>* getProperties;
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
  slot::MakeVDevice<NetVDevicePropsV11>* makeVDevice;
  slot::Finalize* finalize;
  slot::SetNetAttr* setNetAttr;
};
static_assert(sizeof(NetV11) == 176);
static_assert(offsetof(NetV11, test) == 104);
static_assert(offsetof(NetV11, setNetAttr) == 168);

}  // namespace nccl_abi
