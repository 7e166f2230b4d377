// ncclNet_v6_t: what NCCL 2.18.1 ... 2.18.6 uses for its own transports and asks a plugin for
// first. Source: NCCL v2.18.3-1 src/include/nccl_net.h.
#pragma once

#include "nccl_abi/common.h"

namespace nccl_abi {

struct NetPropertiesV6 {
  char* name;          // owned by the plugin
  char* pciPath;       // in /sys; null for a device without one
  std::uint64_t guid;  // the same for all functions of one chip
  int ptrSupport;      // bits kPtr*
  int speed;           // Mbit/s
  int port;
  float latency;  // microseconds
  int maxComms;   // connections
  int maxRecvs;   // buffers in one irecv
};
static_assert(sizeof(NetPropertiesV6) == 48);
static_assert(offsetof(NetPropertiesV6, speed) == 28);
static_assert(offsetof(NetPropertiesV6, maxRecvs) == 44);

// In the order of the table.
struct NetV6 {
  static constexpr int kApi = 6;
  const char* name;
  slot::Init6* init;
  slot::Devices* devices;
  slot::GetProperties<NetPropertiesV6>* getProperties;
  slot::Listen6* listen;
  slot::Connect6* connect;
  slot::Accept6* accept;
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
};
static_assert(sizeof(NetV6) == 136);
static_assert(offsetof(NetV6, test) == 104);
static_assert(offsetof(NetV6, closeListen) == 128);

}  // namespace nccl_abi
