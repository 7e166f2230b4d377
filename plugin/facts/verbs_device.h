// What verbs tells of a device: filled by the verbs layer, enriched from sysfs and netlink here.
// Plain data.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace nnd::facts {

enum class GidType : std::uint8_t { kUnknown, kIb, kRoceV1, kRoceV2 };

struct VerbsGid {
  unsigned index = 0;
  std::array<std::uint8_t, 16> raw{};  // network order; all zero entries are not listed
  GidType type = GidType::kUnknown;    // unknown: not told by verbs, sysfs may know
  int ifindex = 0;                     // 0: not told
};

struct VerbsPort {
  std::uint8_t number = 1;
  int query_errno = 0;  // ibv_query_port's errno; the rest is then empty
  int state = 0;        // enum ibv_port_state
  int phys_state = 0;
  int link_layer = 0;  // enum: 0 unspecified, 1 InfiniBand, 2 Ethernet
  int active_speed = 0;
  int active_width = 0;
  long effective_speed_mbps = 0;  // ibv_query_port_speed; 0: the library has none, or nobody asked
  int active_mtu = 0;             // enum ibv_mtu
  int max_mtu = 0;
  std::uint16_t lid = 0;
  std::uint16_t sm_lid = 0;
  int gid_table_length = 0;
  int pkey_table_length = 0;
  std::vector<VerbsGid> gids;
  std::vector<std::uint16_t> pkeys;
};

// mlx5's second way to the GPU, past the CPU's root port (mlx5dv_get_data_direct_sysfs_path).
struct DataDirect {
  int error = -1;    // errno; 0: it has one; -1: no mlx5, or nobody asked
  std::string path;  // of its function in sysfs, without /sys
};

// As ibv_query_device and libmlx5 tell them.
struct DeviceAttributes {
  std::uint64_t node_guid = 0;
  std::uint64_t sys_image_guid = 0;  // the same on all functions of a card
  std::uint32_t vendor_id = 0;
  std::uint32_t vendor_part_id = 0;
  std::string firmware;
  int max_qp = 0;
  int max_cq = 0;
  int max_mr = 0;
  DataDirect data_direct;
};

struct VerbsDevice : DeviceAttributes {
  std::string name;         // mlx5_0
  std::string uverbs_name;  // uverbs0
  int open_errno = 0;       // ibv_open_device's errno; 0: opened
  // errno of ibv_reg_dmabuf_mr with fd -1, which says whether DMA-BUF is supported; -1: not asked
  int dmabuf_errno = -1;
  std::vector<VerbsPort> ports;
};

}  // namespace nnd::facts
