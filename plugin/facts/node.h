// What this node is: every HCA and port that verbs shows, before NCCL filters, enriched from sysfs
// and netlink, with NCCL's own choice and its reasons. Plain data; collect() reads files and sends
// a few netlink requests, and never fails: what can't be read is empty, 0 or -1.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/settings.h"
#include "diagnosis/device.h"
#include "diagnosis/link_layers.h"
#include "diagnosis/memory.h"
#include "facts/gdr.h"
#include "facts/gpu_driver.h"
#include "facts/nccl_rules.h"
#include "facts/netdev.h"
#include "facts/oob.h"
#include "facts/pci.h"
#include "facts/system.h"
#include "facts/verbs_device.h"

namespace nnd::facts {

enum class PortChoice : std::uint8_t {
  kTaken,
  kIbDisabled,   // NCCL_IB_DISABLE
  kOpenFailed,   // ibv_open_device
  kQueryFailed,  // ibv_query_port
  kNotActive,
  kLinkLayer,   // neither InfiniBand nor Ethernet
  kUserFilter,  // NCCL_IB_HCA
  kOverLimit    // NCCL stops at 32 devices (16 in 2.18)
};

struct Gid {
  unsigned index = 0;
  context::Gid raw{};
  GidType type = GidType::kUnknown;
  int type_error = 0;  // errno of reading gid_attrs/types, where it was read
  int ifindex = 0;     // the netdev that it belongs to; 0: not known
  std::string netdev;  // its name; known without an ifindex where only sysfs tells
  // The interface address that this GID stands for, with its prefix length; none: not known.
  std::optional<IpPrefix> address;
  int owner_ifindex = 0;  // the interface that has the address (a bond's slave: the bond)

  // Made when it is asked for: a node may have thousands of GIDs, and few are told.
  std::string text() const { return context::gid_text(raw); }
  std::string subnet() const { return address ? address->network_text() : std::string(); }
};

struct Port {
  std::uint8_t number = 1;
  int query_errno = 0;
  int state = 0;       // enum ibv_port_state: 4 is active
  int phys_state = 0;  // 5 is LinkUp
  int link_layer = 0;  // 1 InfiniBand, 2 Ethernet
  long speed_mbps = 0;
  long sysfs_speed_mbps = 0;  // ports/<p>/rate; 0: not read
  // As verbs told it, which NCCL reads in its own way.
  int active_speed = 0;
  int active_width = 0;
  long effective_speed_mbps = 0;  // ibv_query_port_speed; 0: not told
  int width = 0;                  // lanes
  unsigned active_mtu = 0;        // bytes
  unsigned max_mtu = 0;
  std::uint16_t lid = 0;
  std::uint16_t sm_lid = 0;
  int gid_table_length = 0;
  std::vector<Gid> gids;  // those that are not zero
  std::vector<std::uint16_t> pkeys;
  long pkey_index = 0;  // NCCL_IB_PKEY: the index that NCCL uses
  GidPick pick;

  PortChoice choice = PortChoice::kTaken;
  int nccl_rail = -1;  // from NCCL_IB_HCA's suffixes
  int nccl_plane = -1;
  std::vector<std::string> reasons;

  bool infiniband() const { return link_layer == 1; }
  bool ethernet() const { return link_layer == 2; }
  const Gid* gid(int index) const;  // null: empty slot
  const Gid* picked() const { return gid(pick.index); }
  std::string link_text() const;  // "IB 400G", "RoCE 100G"
};

struct PcieLink {
  double current_gts = 0;  // 0: not read
  double max_gts = 0;
  int current_width = 0;
  int max_width = 0;

  bool below_max() const {
    return (current_gts > 0 && current_gts < max_gts) ||
           (current_width > 0 && current_width < max_width);
  }
};

// A lower device of a bond.
struct BondSlave {
  std::string name;
  std::string operstate;  // empty: not known
  long speed_mbps = 0;    // 0: not known
};

enum class UverbsState : std::uint8_t { kNotExamined, kUsable, kMissing, kDenied };

struct Hca : DeviceAttributes {
  std::string name;
  std::string uverbs_name;
  int open_errno = 0;
  // It can't be opened, and is meant to be: NCCL would take it.
  std::optional<diagnosis::CannotOpen> closed;
  UverbsState uverbs = UverbsState::kNotExamined;
  int uverbs_errno = 0;
  bool sysfs_present = false;  // class/infiniband/<name> is there
  std::string device_path;     // realpath of its device within sysfs; empty: does not resolve
  std::string pci;             // "0000:c1:00.0"; empty: not a PCI function
  int numa = -1;
  PcieLink pcie;
  std::string physfn;      // PCI address of the physical function: this one is virtual
  std::string iommu_type;  // "identity", "DMA", ...
  std::vector<std::string> device_netdevs;           // device/net/*
  PciDistance gpu_distance = PciDistance::kUnknown;  // to the nearest GPU
  std::vector<std::string> near_gpus;                // addresses of those that are so near

  std::string netdev;  // of the picked GID, else of any GID, else of the device
  std::string bond;    // the bond that the netdev is or is enslaved to
  std::string bond_mode;
  std::vector<BondSlave> bond_slaves;
  std::vector<Port> ports;
  GdrState gdr;

  bool is_virtual() const { return !physfn.empty(); }
  // What its functions and ports have in common, and with them the PCIe slot.
  std::string card() const { return pci.empty() ? name : pci.substr(0, pci.rfind('.')); }
  // "eno1 is down; eno2 25 Gbit/s, eno3 10 Gbit/s": what is odd about the bond's lower devices.
  std::string bond_trouble() const;
};

struct Sources {
  std::string sysfs = "/sys";
  std::string root;      // put before /proc, /dev, /etc; empty but in tests
  std::string home;      // for ~/.nccl.conf
  int nccl_version = 0;  // 22809 for 2.28.9; 0: not known, newest rules
  Environment environment;
  // errno of ibv_reg_dmabuf_mr(fd -1) by device name, where somebody asked: EOPNOTSUPP and
  // EPROTONOSUPPORT say that it can't be, EBADF that it can.
  std::map<std::string, int, std::less<>> dmabuf_errno;
  GpuDriver gpu_driver;  // what it says in this process, where it was asked
  // Also where HCAs are shown: not in every process of a job.
  bool whole_pci_bus = false;

  static Sources of_process(const config::Settings& settings, int nccl_version);
};

struct Node {
  std::vector<Hca> hcas;                // in the order of ibv_get_device_list
  std::vector<std::string> sysfs_hcas;  // class/infiniband: those that verbs may not show
  // On the PCI bus or in sysfs, with or without a driver; not looked for where verbs has devices.
  bool infiniband_hardware = false;
  // The user's own wish: NCCL_IB_DISABLE, or NCCL_NET names another transport than IB.
  bool rdma_unwanted = false;
  // The variable that makes NCCL use TCP with whatever HCAs are here: "NCCL_IB_DISABLE=1"; else
  // empty.
  std::string tcp_by;
  Network network;
  OobPick oob;
  PciBus pci;  // its RDMA functions only where the whole bus was read
  System system;
  GpuDriver gpu_driver;
  PeerMemory peer_memory;
  HcaFilter filter;
  int nccl_version = 0;
  std::string sysfs;  // the root that it was read from; empty: none
  std::uint64_t collect_ns = 0;

  const Hca* find(std::string_view device) const;
  const Port* find(std::string_view device, unsigned port) const;
};

// NCCL crashes on this HCA, which it would take; none: it does not.
std::optional<diagnosis::NoDevicePath> crash_of(const Node& node, const Hca& hca);

// RDMA hardware that NCCL's own transport should find usable: not an Ethernet NIC on a machine
// without GPUs, whose driver was never loaded, and not EFA, which is another plugin's.
bool expects_rdma(const Node& node);

// GPUDirect of one of its HCAs, for one answer about DMA-BUF (see Sources), or none.
GdrState judge_gdr(const Node& node, std::optional<int> dmabuf_errno);

Node collect(const std::vector<VerbsDevice>& devices, const Sources& sources);

// What keeps a port from NCCL that NCCL itself would take: a policy's reason, or empty.
using RefusedBy = std::function<std::string(std::string_view device, unsigned port)>;

// "HCAs taken: mlx5_0:1/IB 400G, ...; refused: mlx5_9:1 (hca.bond); skipped: mlx5_4:1 (DOWN)".
std::string hca_summary(const Node& node, const RefusedBy& refused = {});

// The node as last set, empty before: for those who need it without collecting again. Never blocks.
// A node stays alive for the life of the process once it was set, so that references into it do.
const Node& current_node() noexcept;
// What this process may lock: by the current node's facts, else looked at now.
diagnosis::LockedMemory locked_memory();
void set_current_node(Node node);

// Values of verbs as text and units; sources: rdma-core's verbs.h.
const char* port_state_text(int state);
const char* phys_state_text(int state);
using diagnosis::link_layer_text;
const char* gid_type_text(GidType type);
const char* choice_text(PortChoice choice);
long verbs_speed_mbps(int active_speed, int active_width);
int verbs_width(int active_width);            // lanes
unsigned verbs_mtu(int mtu);                  // bytes
long parse_rate_mbps(std::string_view rate);  // "400 Gb/sec (4X NDR)"

}  // namespace nnd::facts
