// Nodes made for tests of rules: plain structs, no files.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "facts/node.h"
#include "policy/judge.h"

namespace nnd::policy::test {

inline context::Gid raw_gid(const std::string& text) {
  context::Gid raw{};
  const facts::IpAddress address = facts::parse_address(text).value();
  if (address.family == facts::Family::kIpv4) {
    raw[10] = raw[11] = 0xff;
    std::copy(address.bytes.begin(), address.bytes.begin() + 4, raw.begin() + 12);
  } else {
    raw = address.bytes;
  }
  return raw;
}

inline facts::Gid make_gid(unsigned index, const std::string& prefix, int ifindex,
                           facts::GidType type = facts::GidType::kRoceV2) {
  facts::Gid gid;
  gid.index = index;
  gid.address = facts::parse_prefix(prefix).value();
  gid.raw = raw_gid(gid.address->address.text());
  gid.type = type;
  gid.ifindex = gid.owner_ifindex = ifindex;
  return gid;
}

struct MadeNode {
  facts::Node node;

  MadeNode() {
    node.network.known = node.network.routes_complete = true;
    node.system.limits.memlock_soft = UINT64_MAX;
    node.system.limits.nofile_soft = 65536;
  }

  facts::Hca& add_hca(const std::string& name, int link_layer, long mbps) {
    facts::Hca hca;
    hca.name = name;
    hca.uverbs = facts::UverbsState::kUsable;
    hca.sysfs_present = true;
    hca.pci = fmt::format("0000:{:02x}:00.0", 0x10 + node.hcas.size());
    hca.device_path = "devices/" + hca.pci;
    hca.pcie = {32.0, 32.0, 16, 16};
    facts::Port port;
    port.state = 4;
    port.phys_state = 5;
    port.link_layer = link_layer;
    port.speed_mbps = mbps;
    port.active_mtu = 4096;
    port.gid_table_length = 16;
    port.pkeys = {0xffff};
    hca.ports.push_back(port);
    node.hcas.push_back(hca);
    return node.hcas.back();
  }

  facts::Hca& add_rail(const std::string& name, const std::string& prefix, long mbps = 400000) {
    facts::NetDev dev;
    dev.ifindex = static_cast<int>(node.network.devs.size()) + 2;
    dev.name = fmt::format("ens{}", dev.ifindex);
    dev.addresses.push_back(facts::parse_prefix(prefix).value());
    facts::Hca& hca = add_hca(name, 2, mbps);
    hca.netdev = dev.name;
    hca.ports[0].gids.push_back(make_gid(3, prefix, dev.ifindex));
    hca.ports[0].gids[0].netdev = dev.name;
    hca.ports[0].pick = {3, facts::PickBasis::kQualified, "RoCE v2 IPv4 GID"};
    node.network.devs.push_back(dev);
    return hca;
  }

  facts::Hca& add_bond(const std::string& name, const std::string& prefix, long mbps = 400000) {
    facts::Hca& hca = add_rail(name, prefix, mbps);
    facts::NetDev& dev = node.network.devs.back();
    dev.name = fmt::format("bond{}", dev.ifindex);
    dev.kind = "bond";
    hca.netdev = hca.bond = dev.name;
    hca.ports[0].gids[0].netdev = dev.name;
    hca.bond_slaves = {{"eth0", "up", 0}, {"eth1", "up", 0}};
    return hca;
  }

  facts::Hca& add_ib(const std::string& name, long mbps = 400000) {
    facts::Hca& hca = add_hca(name, 1, mbps);
    hca.ports[0].lid = 7;
    hca.ports[0].sm_lid = 1;
    hca.ports[0].gids.push_back(make_gid(0, "fe80::a288:c203:1:2/64", 0, facts::GidType::kIb));
    hca.ports[0].pick = {0, facts::PickBasis::kInfiniband, "InfiniBand: index 0"};
    return hca;
  }

  facts::NetDev& netdev_of(const facts::Hca& hca) {
    for (facts::NetDev& dev : node.network.devs)
      if (dev.name == hca.netdev) return dev;
    throw std::out_of_range(hca.netdev);
  }

  facts::Hca& hca(const std::string& name) {
    for (facts::Hca& one : node.hcas)
      if (one.name == name) return one;
    throw std::out_of_range(name);
  }
  facts::Port& port(const std::string& name) { return hca(name).ports.at(0); }

  Judgement judge(Mode mode = Mode::kWarn, const Policy& policy = {}) const {
    return judge_node(node, policy, mode, "node-1");
  }
};

// Eight rails, each in its own subnet.
inline MadeNode rails(int count = 8) {
  MadeNode made;
  for (int i = 0; i < count; ++i)
    made.add_rail(fmt::format("mlx5_{}", i), fmt::format("10.200.{}.2/24", i));
  return made;
}

inline std::vector<std::string> rules_of(const std::vector<Verdict>& verdicts) {
  std::vector<std::string> out;
  for (const Verdict& verdict : verdicts)
    out.push_back(verdict.rule + " " + std::string(cause_id(verdict.diagnosis.cause)));
  return out;
}

}  // namespace nnd::policy::test
