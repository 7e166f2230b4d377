// What NCCL's own IB transport makes of a node: its devices in its own order and as getProperties
// tells them, and what a connection's QPs get. Rules in our own words, from NCCL's sources 2.18.3
// to 2.30.7 (src/transport/net_ib.cc, later net_ib/init.cc and net_ib/connect.cc);
// test/differential compares them with what the official libraries do. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "facts/node.h"

namespace nnd::facts {

struct NcclMember {
  const Hca* hca = nullptr;
  const Port* port = nullptr;
};

struct NcclDevice {
  std::string name;  // "mlx5_0"; two merged: "mlx5_0+mlx5_1"; data direct: "mlx5_0_dma"
  std::vector<NcclMember> members;  // the first one's properties count
  std::string pci_path;             // as core sees it; empty: none
  long speed_mbps = 0;
  int port = 0;  // verbs' number and how many devices before it are of the same card
  bool peermem = false;
  bool dmabuf = false;
  bool force_flush = false;  // after the HCA's writes, before a GPU reads
  int rail = -1;
  int plane = -1;
};

enum class NcclInit : std::uint8_t { kWorks, kFails, kCrashes };

struct NcclDevices {
  NcclInit init = NcclInit::kWorks;
  std::string why;                  // where it does not work
  std::vector<NcclDevice> devices;  // empty then
};

// The node must live as long as the result.
NcclDevices nccl_devices(const Node& node, const Environment& environment);

// What both ends put into a QP, as the hardware gets it: fields of verbs take a byte of a number.
struct NcclQp {
  int count = 1;  // a connection's data QPs, for each device that is merged
  int pkey_index = 0;
  int traffic_class = 0;           // on RoCE
  int receiver_traffic_class = 0;  // of the receiver's side, which posts clear-to-send
  int service_level = 0;
  int timeout = 20;
  int retry_count = 7;
};

NcclQp nccl_qp(const Environment& environment, int version);

}  // namespace nnd::facts
