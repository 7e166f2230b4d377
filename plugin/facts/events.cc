#include "facts/events.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "diagnosis/node.h"
#include "record/fields.h"

namespace nnd::facts {

namespace {

using record::Event;
using record::EventId;
using record::Severity;

// An event must fit into a ring: long lists are cut, and their true length is said.
constexpr std::size_t kMaxGids = 16;
constexpr std::size_t kMaxVariables = 64;
constexpr std::size_t kMaxValue = 200;

void add_text(Event& event, record::Key key, std::string_view value) {
  if (!value.empty()) event.add(key, value);
}

std::int64_t signed_limit(std::uint64_t bytes) {  // -1: unlimited
  return bytes > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())
             ? -1
             : static_cast<std::int64_t>(bytes);
}

void add_dev(Event& event, const Hca& hca, const Port* port) {
  record::DeviceFields fields{.name = hca.name, .pci = hca.pci, .numa = hca.numa};
  const Gid* const gid = port ? port->picked() : nullptr;
  std::string subnet;
  if (gid) {
    subnet = gid->subnet();
    fields.gid = gid->raw;
    fields.subnet = subnet;
  }
  if (port) {
    fields.port = port->number;
    fields.gid_index = port->pick.index;
    fields.link_layer = link_layer_text(port->link_layer);
    fields.mtu = port->active_mtu;
    if (port->speed_mbps != 0) fields.speed_mbps = port->speed_mbps;
  }
  fields.netdev = gid && !gid->netdev.empty() ? gid->netdev : hca.netdev;
  add_device(event, fields);
}

void add_gids(Event& event, const Port& port) {
  event.add("gids_total", port.gids.size()).add("gid_table", port.gid_table_length);
  event.array("gids");
  for (std::size_t i = 0; i < std::min(port.gids.size(), kMaxGids); ++i) {
    const Gid& gid = port.gids[i];
    event.push_object().add("index", gid.index).add("gid", gid.text());
    event.add("type", gid_type_text(gid.type));
    if (gid.type_error != 0) event.add("type_errno", gid.type_error);
    add_text(event, "netdev", gid.netdev);
    add_text(event, "subnet", gid.subnet());
    event.end();
  }
  event.end();
}

void add_port(Event& event, const Port& port) {
  event.add("state", port_state_text(port.state));
  event.add("phys_state", phys_state_text(port.phys_state));
  event.add("width", port.width);
  if (port.max_mtu != 0) event.add("max_mtu", port.max_mtu);
  if (port.sysfs_speed_mbps != 0 && port.sysfs_speed_mbps != port.speed_mbps)
    event.add("sysfs_speed_mbps", port.sysfs_speed_mbps);
  if (port.infiniband()) event.add("lid", port.lid).add("sm_lid", port.sm_lid);
  if (port.nccl_rail >= 0) event.add("rail", port.nccl_rail);
  if (port.nccl_plane >= 0) event.add("plane", port.nccl_plane);
  if (!port.pkeys.empty() && port.pkey_index >= 0) {
    event.add("pkey_index", port.pkey_index);
    if (static_cast<std::size_t>(port.pkey_index) < port.pkeys.size())
      event.hex("pkey", port.pkeys[static_cast<std::size_t>(port.pkey_index)]);
  }
  add_text(event, "gid_why", port.pick.why);
  add_gids(event, port);
}

void add_hca(Event& event, const Hca& hca) {
  add_text(event, "uverbs", hca.uverbs_name);
  static constexpr std::array<const char*, 4> kUverbs = {"not examined", "usable", "missing",
                                                         "denied"};
  event.add("uverbs_node", kUverbs[static_cast<std::size_t>(hca.uverbs)]);
  add_text(event, "firmware", hca.firmware);
  event.hex("vendor", hca.vendor_id).add("vendor_part", hca.vendor_part_id);
  add_text(event, "device_path", hca.device_path);
  add_text(event, "vf_of", hca.physfn);
  add_text(event, "iommu", hca.iommu_type);
  if (!hca.bond.empty()) {
    event.object("bond").add("name", hca.bond);
    add_text(event, "mode", hca.bond_mode);
    event.array("slaves");
    for (const BondSlave& slave : hca.bond_slaves) event.push(slave.name);
    event.end().end();
  }
  if (hca.pcie.current_gts > 0 || hca.pcie.current_width > 0)
    event.object("pcie")
        .add("gts", hca.pcie.current_gts)
        .add("max_gts", hca.pcie.max_gts)
        .add("width", hca.pcie.current_width)
        .add("max_width", hca.pcie.max_width)
        .end();
}

void add_gpus(Event& event, const Hca& hca) {
  if (hca.near_gpus.empty()) return;
  event.object("gpus").add("distance", pci_distance_text(hca.gpu_distance));
  event.array("nearest");
  for (const std::string& gpu : hca.near_gpus) event.push(gpu);
  event.end().end();
}

// What carries the port's address, where it is more than a plain interface.
void add_interface(Event& event, const Network& network, const Hca& hca, const Port& port) {
  const Gid* gid = port.picked();
  const NetDev* dev = gid ? network.find(gid->owner_ifindex) : nullptr;
  if (!dev) dev = network.find(hca.netdev);
  if (!dev || !port.ethernet()) return;
  const auto routes =
      std::count_if(network.routes.begin(), network.routes.end(),
                    [dev](const Route& route) { return route.ifindex == dev->ifindex; });
  event.object("interface").add("name", dev->name).add("operstate", dev->operstate);
  add_text(event, "kind", dev->kind);
  if (dev->vlan_id != 0) event.add("vlan", dev->vlan_id);
  add_text(event, "parent", dev->parent);
  if (dev->mtu != 0) event.add("mtu", dev->mtu);
  event.add("default_route", dev->default_route).add("routes", routes).end();
}

// limit: this port is the first that NCCL leaves out since it takes so many at most.
void emit_hca_port(const Network& network, const Hca& hca, const Port* port,
                   const std::string& refused, int limit = 0) {
  Event event(EventId::kHcaPort, limit != 0 ? Severity::kWarn : Severity::kInfo);
  add_dev(event, hca, port);
  event.add("verdict", !refused.empty()                             ? "refused"
                       : port && port->choice == PortChoice::kTaken ? "taken"
                                                                    : "skipped");
  event.array("reasons");
  if (!refused.empty()) event.push(refused);
  if (port)
    for (const std::string& reason : port->reasons) event.push(reason);
  else
    event.push(fmt::format("can't be opened, errno {}", hca.open_errno));
  event.end();
  if (port) {
    add_port(event, *port);
    add_interface(event, network, hca, *port);
  }
  if (hca.open_errno != 0) event.add("errno", hca.open_errno);
  add_hca(event, hca);
  add_gpus(event, hca);
  if (limit != 0) event.diagnose(diagnose(diagnosis::BeyondLimit{hca.name, limit}));
  event.emit();
}

void add_environment(Event& event, const System& system) {
  event.hex("env_hash", system.environment_hash).object("env");
  for (std::size_t i = 0; i < std::min(system.environment.size(), kMaxVariables); ++i) {
    const auto& [name, value] = system.environment[i];
    event.add(name, std::string_view(value).substr(0, kMaxValue));
  }
  event.end().add("env_total", system.environment.size());
  event.array("conf");
  for (const ConfFile& conf : system.conf_files)
    event.push_object().add("path", conf.path).hex("hash", conf.hash).end();
  event.end();
}

void add_system(Event& event, const System& system) {
  add_text(event, "kernel", system.kernel);
  add_text(event, "ofed", system.ofed);
  add_text(event, "rdma_core", system.rdma_core);
  add_text(event, "gpu_driver", system.gpu_driver);
  if (system.gpu_driver_open) event.add("gpu_driver_open", *system.gpu_driver_open);
  add_text(event, "iommu", system.iommu);
  add_text(event, "topology_file", system.topology_file);
  event.add("dev_infiniband", system.dev_infiniband);
  event.array("container");
  for (const std::string& hint : system.container) event.push(hint);
  event.end();
  const Limits& limits = system.limits;
  event.object("limits")
      .add("memlock", signed_limit(limits.memlock_soft))
      .add("memlock_hard", signed_limit(limits.memlock_hard))
      .add("nofile", signed_limit(limits.nofile_soft))
      .add("nofile_hard", signed_limit(limits.nofile_hard))
      .add("cap_ipc_lock", limits.cap_ipc_lock)
      .end();
}

// What NCCL asks the driver itself, and how many of its GPUs reach each other without the network.
void add_gpu_driver(Event& event, const GpuDriver& driver) {
  if (driver.version == 0) return;
  event.object("cuda").add("version", driver.version).add("gpus", driver.gpus.size());
  if (driver.any_rdma()) event.add("gpudirect_rdma", *driver.any_rdma());
  if (driver.any_dmabuf()) event.add("dmabuf", *driver.any_dmabuf());
  add_text(event, "current", driver.current);
  event.add("pairs", driver.pairs).add("peers", driver.peers);
  event.array("pci");
  for (const Gpu& gpu : driver.gpus) event.push(gpu.pci);
  event.end().end();
}

void emit_node(const Node& node) {
  Event event(EventId::kNodeFacts);
  std::size_t ports = 0;
  std::size_t taken = 0;
  for (const Hca& hca : node.hcas)
    for (const Port& port : hca.ports) {
      ++ports;
      if (port.choice == PortChoice::kTaken) ++taken;
    }
  event.add("hcas", node.hcas.size()).add("ports", ports).add("taken", taken);
  if (node.nccl_version != 0) event.add("nccl_version", node.nccl_version);
  add_system(event, node.system);
  add_gpu_driver(event, node.gpu_driver);
  event.object("network")
      .add("known", node.network.known)
      .add("routes_complete", node.network.routes_complete)
      .add("devs", node.network.devs.size())
      .add("routes", node.network.routes.size());
  add_text(event, "error", node.network.error);
  event.array("default_route");
  for (const NetDev& dev : node.network.devs)
    if (dev.default_route) event.push(dev.name);
  event.end().end();
  event.object("oob");
  add_text(event, "netdev", node.oob.netdev);
  add_text(event, "address", node.oob.address);
  event.add("why", node.oob.why).end();
  add_environment(event, node.system);
  event.add("collect_us", node.collect_ns / 1000).emit();
}

}  // namespace

// NCCL's own limit, where nobody set another (ncclTopoCheckGdr, v2.28.9-1 src/graph/paths.cc). Over
// a link from GPU to CPU it may be further (C2C), as machines of aarch64 have. In a virtual machine
// a topology file says what sysfs doesn't.
static bool beyond_gdr_level(const Node& node, const Hca& hca, const GdrState& gdr) {
#if defined(__aarch64__)
  return false;
#endif
  const auto& set = node.system.environment;
  const bool own_level = std::any_of(set.begin(), set.end(), [](const auto& variable) {
    return variable.first == "NCCL_NET_GDR_LEVEL";
  });
  return !own_level && node.system.topology_file.empty() &&
         (gdr.way == GdrWay::kPeermem || gdr.way == GdrWay::kDmabuf) && !hca.near_gpus.empty() &&
         (hca.gpu_distance == PciDistance::kPhb || hca.gpu_distance == PciDistance::kSys);
}

bool gdr_to_come(const Node& node, const Hca& hca) {
  const bool taken = std::any_of(hca.ports.begin(), hca.ports.end(), [](const Port& port) {
    return port.choice == PortChoice::kTaken;
  });
  return taken && node.system.gpu_driver_loaded && !hca.gdr.dmabuf;
}

void emit_gdr(const Node& node, const Hca& hca, const GdrState& gdr) {
  Event event(EventId::kGdrState);
  add_dev(event, hca, nullptr);
  event.add("way", gdr_way_text(gdr.way)).add("why", gdr.why);
  event.add("peermem", gdr.peermem).add("half_loaded", node.peer_memory.half_loaded);
  if (gdr.dmabuf) event.add("dmabuf", *gdr.dmabuf);
  if (gdr.dmabuf_errno != 0) event.add("dmabuf_errno", gdr.dmabuf_errno);
  add_text(event, "iommu", hca.iommu_type);
  if (beyond_gdr_level(node, hca, gdr))
    event.diagnose(diagnose(
        diagnosis::FarGpus{hca.name, hca.near_gpus.front(), pci_distance_text(hca.gpu_distance)}));
  event.emit();
}

void emit_facts(const Node& node, const RefusedBy& refused) {
  emit_node(node);
  for (const Hca& hca : node.hcas)
    if (!gdr_to_come(node, hca)) emit_gdr(node, hca, hca.gdr);
  bool left_out = false;  // NCCL's limit was met, and that is told
  for (const Hca& hca : node.hcas) {
    if (hca.ports.empty()) emit_hca_port(node.network, hca, nullptr, {});
    for (const Port& port : hca.ports) {
      const bool first_left_out = port.choice == PortChoice::kOverLimit && !left_out;
      left_out = left_out || first_left_out;
      emit_hca_port(node.network, hca, &port,
                    refused ? refused(hca.name, port.number) : std::string(),
                    first_left_out ? max_ib_devices(node.nccl_version) : 0);
    }
  }
}

}  // namespace nnd::facts
