#include <cstdio>

#include "softverbs/pci.h"
#include "softverbs/sysfs_tree.h"

namespace softverbs {

namespace {

template <typename... Values>
std::string format(const char* pattern, Values... values) {
  char text[128];
  std::snprintf(text, sizeof text, pattern, values...);
  return text;
}

std::string guid_text(std::uint64_t guid) {
  return format("%04x:%04x:%04x:%04x", static_cast<unsigned>(guid >> 48),
                static_cast<unsigned>(guid >> 32 & 0xffff),
                static_cast<unsigned>(guid >> 16 & 0xffff), static_cast<unsigned>(guid & 0xffff));
}

const char* state_text(int state) {
  switch (state) {
    case 2:
      return "2: INIT";
    case 3:
      return "3: ARMED";
    case 4:
      return "4: ACTIVE";
    default:
      return "1: DOWN";
  }
}

const char* phys_state_text(int state) {
  switch (state) {
    case 1:
      return "1: Sleep";
    case 2:
      return "2: Polling";
    case 4:
      return "4: PortConfigurationTraining";
    case 5:
      return "5: LinkUp";
    default:
      return "3: Disabled";
  }
}

const char* link_layer_text(LinkLayer layer) {
  switch (layer) {
    case LinkLayer::kInfiniBand:
      return "InfiniBand";
    case LinkLayer::kEthernet:
      return "Ethernet";
    case LinkLayer::kUnspecified:
      break;
  }
  return "Unknown";  // the kernel's word
}

std::string rate_text(const Port& port) {
  const std::uint64_t lane = port.speed_mbps / static_cast<unsigned>(port.width);
  const char* name = lane <= 2500     ? "SDR"
                     : lane <= 5000   ? "DDR"
                     : lane <= 10000  ? "QDR"
                     : lane <= 14000  ? "FDR"
                     : lane <= 25000  ? "EDR"
                     : lane <= 50000  ? "HDR"
                     : lane <= 100000 ? "NDR"
                                      : "XDR";
  return format("%g Gb/sec (%dX %s)", static_cast<double>(port.speed_mbps) / 1000, port.width,
                name);
}

const char* type_text(GidType type) { return type == GidType::kRoceV2 ? "RoCE v2" : "IB/RoCE v1"; }

void write_gids(const FileTree& tree, const std::string& dir, const Port& port) {
  std::vector<const GidEntry*> slots(static_cast<std::size_t>(port.gid_table));
  for (const GidEntry& entry : port.gids) slots[static_cast<std::size_t>(entry.index)] = &entry;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const std::string index = std::to_string(i);
    tree.file(dir + "/gids/" + index, gid_text(slots[i] ? slots[i]->gid : kZeroGid));
    // Reading an empty slot's type fails on a real kernel; a file can only be empty.
    tree.file(dir + "/gid_attrs/types/" + index, slots[i] ? type_text(slots[i]->type) : "");
    if (slots[i] && !slots[i]->netdev.empty())
      tree.file(dir + "/gid_attrs/ndevs/" + index, slots[i]->netdev);
  }
}

void write_port(const FileTree& tree, const std::string& dir, const Port& port) {
  tree.file(dir + "/state", state_text(port.state));
  tree.file(dir + "/phys_state", phys_state_text(port.phys_state));
  tree.file(dir + "/rate", rate_text(port));
  tree.file(dir + "/link_layer", link_layer_text(port.link_layer));
  tree.file(dir + "/lid", format("0x%x", static_cast<unsigned>(port.lid)));
  tree.file(dir + "/sm_lid", format("0x%x", static_cast<unsigned>(port.sm_lid)));
  tree.file(dir + "/lid_mask_count", "0");
  tree.file(dir + "/cap_mask", "0x04010000");
  for (std::size_t i = 0; i < port.pkeys.size(); ++i)
    tree.file(dir + "/pkeys/" + std::to_string(i),
              format("0x%04x", static_cast<unsigned>(port.pkeys[i])));
  for (const char* counter :
       {"port_xmit_data", "port_rcv_data", "port_xmit_packets", "port_rcv_packets",
        "port_xmit_wait", "symbol_error", "link_error_recovery", "link_downed", "port_rcv_errors"})
    tree.file(dir + "/counters/" + counter, "0");
  for (const char* counter :
       {"out_of_sequence", "packet_seq_err", "local_ack_timeout_err", "rnr_nak_retry_err",
        "roce_adp_retrans", "np_cnp_sent", "rp_cnp_handled", "out_of_buffer"})
    tree.file(dir + "/hw_counters/" + counter, "0");
  write_gids(tree, dir, port);
}

struct PciIdentity {
  const char* vendor;
  const char* device;
};

PciIdentity identity_of(Look look) {
  switch (look) {
    case Look::kBnxt:
      return {"0x14e4", "0x1750"};
    case Look::kIrdma:
      return {"0x8086", "0x1592"};
    case Look::kEfa:
      return {"0x1d0f", "0xefa1"};
    default:
      return {"0x15b3", "0x1021"};
  }
}

}  // namespace

std::string pci_path(const Hca& hca) { return pci_path(hca.parent, hca.pci); }

void write_pci(const FileTree& tree, const Hca& hca) {
  if (hca.pci.empty()) return;
  const bool infiniband = hca.ports.front().link_layer == LinkLayer::kInfiniBand;
  const PciIdentity identity = identity_of(hca.look);
  write_function(tree, {.pci = hca.pci,
                        .parent = hca.parent,
                        .device_class = infiniband ? "0x020700" : "0x020000",
                        .vendor = identity.vendor,
                        .device = identity.device,
                        .subsystem_device = "0x0001",
                        .numa = hca.numa,
                        .speed = hca.pcie_speed,
                        .max_speed = hca.pcie_max_speed,
                        .width = hca.pcie_width,
                        .max_width = hca.pcie_max_width});
  const std::string dir = pci_path(hca);
  if (!hca.physfn.empty())
    tree.link(dir + "/physfn", dir.substr(0, dir.rfind('/')) + "/" + hca.physfn);
}

void write_infiniband(const FileTree& tree, const Hca& hca) {
  const std::string dir = "class/infiniband/" + hca.name;
  tree.file(dir + "/node_guid", guid_text(hca.node_guid));
  tree.file(dir + "/sys_image_guid", guid_text(hca.sys_image_guid));
  tree.file(dir + "/node_type", "1: CA");
  tree.file(dir + "/fw_ver", hca.firmware);
  tree.file(dir + "/hca_type", hca.look == Look::kMlx5 ? "MT4129" : "software");
  if (!hca.pci.empty()) tree.link(dir + "/device", pci_path(hca));
  for (const Port& port : hca.ports)
    write_port(tree, dir + "/ports/" + std::to_string(port.number), port);
  const std::string verbs = "class/infiniband_verbs/" + hca.uverbs;
  tree.file(verbs + "/ibdev", hca.name);
  tree.file(verbs + "/abi_version", "1");
  if (!hca.pci.empty()) tree.link(verbs + "/device", pci_path(hca));
}

}  // namespace softverbs
