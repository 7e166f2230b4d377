#include <nlohmann/json.hpp>

#include "softverbs/sysfs_tree.h"

namespace softverbs {

namespace {

const Hca* hca_at(const Host& host, const std::string& pci) {
  for (const Hca& hca : host.hcas)
    if (!pci.empty() && hca.pci == pci) return &hca;
  return nullptr;
}

std::vector<std::string> slaves_of(const Host& host, const Netdev& master) {
  std::vector<std::string> names;
  for (const Netdev& netdev : host.netdevs)
    if (netdev.master == master.name) names.push_back(netdev.name);
  return names;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

}  // namespace

void write_netdevs(const FileTree& tree, const Host& host) {
  for (const Netdev& netdev : host.netdevs) {
    if (netdev.elsewhere) continue;
    const std::string dir = "class/net/" + netdev.name;
    const bool loopback = netdev.name == "lo";
    tree.file(dir + "/ifindex", std::to_string(netdev.ifindex));
    tree.file(dir + "/address", netdev.mac);
    tree.file(dir + "/mtu", std::to_string(netdev.mtu));
    tree.file(dir + "/operstate", loopback ? "unknown" : netdev.up ? "up" : "down");
    tree.file(dir + "/carrier", netdev.up ? "1" : "0");
    tree.file(dir + "/type", loopback ? "772" : "1");
    if (!loopback) tree.file(dir + "/speed", std::to_string(netdev.speed_mbps));
    if (!netdev.master.empty()) tree.link(dir + "/master", "class/net/" + netdev.master);
    if (netdev.kind == "bond") {
      tree.file(dir + "/bonding/slaves", joined(slaves_of(host, netdev)));
      tree.file(dir + "/bonding/mode", netdev.mode);
    }
    // Virtual netdevs have no device of their own.
    const Hca* hca = netdev.kind.empty() ? hca_at(host, netdev.pci) : nullptr;
    if (hca) {
      tree.link(dir + "/device", pci_path(*hca));
      tree.link(pci_path(*hca) + "/net/" + netdev.name, dir);
    }
  }
}

std::string netlink_json(const Host& host) {
  nlohmann::ordered_json links = nlohmann::ordered_json::array();
  for (const Netdev& netdev : host.netdevs) {
    if (netdev.elsewhere) continue;
    nlohmann::ordered_json link = {{"ifindex", netdev.ifindex},
                                   {"name", netdev.name},
                                   {"operstate", netdev.name == "lo" ? "unknown"
                                                 : netdev.up         ? "up"
                                                                     : "down"},
                                   {"mtu", netdev.mtu}};
    if (netdev.speed_mbps) link["speed_mbps"] = netdev.speed_mbps;
    if (!netdev.master.empty()) link["master"] = netdev.master;
    if (!netdev.parent.empty()) link["parent"] = netdev.parent;
    if (!netdev.kind.empty()) link["kind"] = netdev.kind;
    if (netdev.vlan) link["vlan_id"] = netdev.vlan;
    if (host.arp_ignore >= 0) link["arp_ignore"] = host.arp_ignore;
    if (host.rp_filter >= 0) link["rp_filter"] = host.rp_filter;
    link["addrs"] = nlohmann::ordered_json::array();
    for (const Prefix& prefix : netdev.addresses) link["addrs"].push_back(prefix.text());
    links.push_back(std::move(link));
  }
  nlohmann::ordered_json routes = nlohmann::ordered_json::array();
  for (const HostRoute& route : host.routes) {
    nlohmann::ordered_json entry = {{"dst", route.destination}, {"dev", route.dev}};
    if (!route.via.empty()) entry["via"] = route.via;
    routes.push_back(std::move(entry));
  }
  nlohmann::ordered_json neighbours = nlohmann::ordered_json::array();
  for (const HostNeighbour& one : host.neighbours)
    neighbours.push_back({{"dst", one.address}, {"dev", one.dev}, {"state", one.state}});
  return nlohmann::ordered_json{{"links", links}, {"routes", routes}, {"neighbours", neighbours}}
      .dump(1);
}

}  // namespace softverbs
