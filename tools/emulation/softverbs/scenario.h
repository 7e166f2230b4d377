// A scenario: hosts, their HCAs and netdevs, who reaches whom, and what goes wrong. Read from TOML;
// examples/scenarios shows the keys. Plain data once loaded; nothing here is thread-safe to modify.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "softverbs/address.h"

namespace softverbs {

// As enum of verbs.h.
enum class LinkLayer : std::uint8_t { kUnspecified = 0, kInfiniBand = 1, kEthernet = 2 };
enum class GidType : std::uint8_t { kIb, kRoceV1, kRoceV2 };
enum class Look : std::uint8_t { kMlx5, kBnxt, kIrdma, kRxe, kEfa };
enum class Cpu : std::uint8_t { kIntelSkylake, kIntelSapphireRapids, kAmdRome, kAmdGenoa };

struct GidEntry {
  int index = 0;
  Gid gid{};
  GidType type = GidType::kIb;
  std::string netdev;
};

struct Port {
  int number = 1;
  LinkLayer link_layer = LinkLayer::kEthernet;
  int state = 4;       // enum ibv_port_state: 1 down, 2 init, 3 armed, 4 active
  int phys_state = 5;  // 3 disabled or polling, 5 link up
  std::uint64_t speed_mbps = 400000;
  int width = 4;          // lanes
  int active_mtu = 5;     // enum ibv_mtu: 3 is 1024, 5 is 4096
  std::uint16_t lid = 0;  // InfiniBand; unique in its network
  std::uint16_t sm_lid = 0;
  std::string
      network;         // the layer-2 network; ports of different ones never see each other unrouted
  std::string netdev;  // Ethernet
  int gid_table = 32;  // slots
  std::vector<GidEntry> gids;
  std::vector<std::uint16_t> pkeys = {0xffff};
};

struct Hca {
  std::string name;
  std::string uverbs;
  Look look = Look::kMlx5;
  std::string firmware;
  std::uint64_t node_guid = 0;
  std::uint64_t sys_image_guid = 0;
  std::string pci;     // "0000:17:00.0", empty: no device path in sysfs
  std::string parent;  // the bridges above it, the root port first: "0000:0f:01.0", or with a
                       // switch's two, "0000:0f:01.0/0000:40:00.0/0000:41:00.0"
  std::string physfn;  // PCI address of the physical function that this is a virtual one of
  int numa = 0;
  int pcie_width = 16;
  int pcie_max_width = 16;
  std::string pcie_speed;  // "32.0 GT/s PCIe"
  std::string pcie_max_speed;
  std::string data_direct;  // sysfs path of the data-direct function, without /sys
  int dmabuf_errno = 9;     // what ibv_reg_dmabuf_mr fails with on fd -1; EBADF: supported
  int open_errno = 0;
  bool ece = true;
  int max_qp = 131072;
  std::vector<Port> ports;
};

// A GPU is a place on the PCI bus, for NCCL to choose HCAs by (tools/emulation/softcuda plays it).
struct Gpu {
  std::string pci;     // "0000:11:00.0"
  std::string parent;  // as an HCA's; by default that of the HCA with the same number
  int numa = 0;        // by default that HCA's
};

struct Netdev {
  std::string name;
  int ifindex = 0;
  std::string kind;  // "", "bond", "vlan", "bridge", …
  std::string mac;
  int mtu = 9000;
  bool up = true;
  bool elsewhere = false;  // in another network namespace: the HCA's GIDs alone tell of it
  std::uint64_t speed_mbps = 0;
  std::string master;
  std::string parent;
  int vlan = 0;
  std::string mode;  // a bond's
  std::string pci;
  std::vector<Prefix> addresses;
};

struct HostRoute {
  std::string destination;  // "default" or a prefix
  std::string via;
  std::string dev;
};

struct HostNeighbour {
  std::string address;
  std::string dev;
  std::string state;  // "failed", ... as `ip neigh` says it, in lower case
};

struct Host {
  std::string name;
  Cpu cpu = Cpu::kIntelSapphireRapids;  // NCCL judges paths between sockets by it
  bool nvswitch = false;                // joins the GPUs
  std::vector<Hca> hcas;
  std::vector<Gpu> gpus;
  std::vector<Netdev> netdevs;
  std::vector<HostRoute> routes;
  std::vector<HostNeighbour> neighbours;
  // Of all its interfaces, as in /proc/sys/net/ipv4/conf; -1: not told.
  int arp_ignore = -1;
  int rp_filter = -1;
  // Files of the host's sysfs: path below /sys to content; no content: the file is taken away.
  std::map<std::string, std::optional<std::string>> sysfs;

  const Hca* find_hca(const std::string& hca) const;
  const Netdev* find_netdev(const std::string& netdev) const;
};

// Traffic between two networks passes (both ways), though they are not one subnet.
struct Route {
  Prefix from;
  Prefix to;
  bool lossy = false;  // a gateway answers, but nothing arrives
};

enum class FaultKind : std::uint8_t {
  kRefuseRtr,   // ibv_modify_qp to RTR fails with an errno after a delay
  kLinkDown,    // a port goes down
  kLosePeer,    // a host answers no more
  kFailCall,    // the n-th call of a verb fails
  kFailWr,      // the n-th work request completes with a status
  kHoldWr,      // work requests begin late, one after another
  kAsyncEvent,  // an async event out of the blue
};

struct Fault {
  FaultKind kind = FaultKind::kRefuseRtr;
  std::string host;  // empty: every one; so with hca
  std::string hca;
  int port = 0;
  std::string peer_hca;
  std::string verb;
  int error = 0;   // errno
  int status = 0;  // enum ibv_wc_status
  std::uint32_t vendor_err = 0;
  int event = 0;         // enum ibv_event_type
  int empties_gid = -1;  // kAsyncEvent: index whose GID goes with it; -1: none
  int delay_ms = 0;
  std::uint64_t nth = 1;             // first call or work request that is hit, counted per process
  std::uint64_t times = 1;           // how many are hit from there; 0: all
  bool reads = false;                // kHoldWr: RDMA reads alone, counted alone
  int at_ms = -1;                    // since the fabric's directory was made; -1: not by time
  std::uint64_t after_messages = 0;  // posted on this port by one process; 0: not by count
  int up_after_ms = -1;
};

struct Scenario {
  std::string name;
  std::filesystem::path file;
  std::string description;
  int resolve_timeout_ms = 1000;  // how long the kernel looks for a neighbour before ETIMEDOUT
  std::vector<Host> hosts;
  std::vector<Route> routes;
  std::vector<Fault> faults;

  const Host* find_host(const std::string& host) const;
};

// What is wrong with a scenario: "file:line: key: what, did you mean …".
class ScenarioError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Throws ScenarioError.
Scenario load_scenario(const std::filesystem::path& file);
Scenario parse_scenario(const std::string& text, const std::string& file_name);

// Gives the host `count` GPUs at the places where [[host.gpu]] puts them by default: the n-th
// beside the n-th HCA.
void add_gpus(Host& host, int count);

using Environment = std::map<std::string, std::string>;

// Writes the sysfs that a process on this host would see, and nnd-netlink.json, below dir (created;
// must not hold a tree yet). Returns the environment for a process on that host; fabric_dir is
// where the processes of all hosts meet and must be the same for them. Throws ScenarioError or
// std::filesystem::filesystem_error.
Environment materialize(const Scenario& scenario, const std::string& host,
                        const std::filesystem::path& dir, const std::filesystem::path& fabric_dir);

// Where the stand-ins libibverbs.so.1 and libmlx5.so.1 are: $SOFTVERBS_LIBDIR, else beside the
// running program as installed, else the build tree.
std::filesystem::path library_dir();

}  // namespace softverbs
