#include "facts/netdev.h"

#include <algorithm>

#include "facts/sysfs.h"

namespace nnd::facts {

const NetDev* Network::find(int ifindex) const {
  const auto it = std::find_if(devs.begin(), devs.end(),
                               [ifindex](const NetDev& dev) { return dev.ifindex == ifindex; });
  return it == devs.end() ? nullptr : &*it;
}

const NetDev* Network::find(std::string_view name) const {
  const auto it = std::find_if(devs.begin(), devs.end(),
                               [name](const NetDev& dev) { return dev.name == name; });
  return it == devs.end() ? nullptr : &*it;
}

const NetDev* Network::owner(const IpAddress& address, const NetDev* preferred,
                             IpPrefix* prefix) const {
  const auto has = [&](const NetDev* dev) {
    if (!dev) return false;
    for (const IpPrefix& own : dev->addresses)
      if (own.address == address) {
        if (prefix) *prefix = own;
        return true;
      }
    return false;
  };
  if (has(preferred)) return preferred;
  if (preferred && !preferred->master.empty()) {
    const NetDev* master = find(preferred->master);
    if (has(master)) return master;
  }
  // A link-local address says nothing without its interface: several may have the same.
  if (address.link_local()) return nullptr;
  for (const NetDev& dev : devs)
    if (has(&dev)) return &dev;
  return nullptr;
}

std::vector<const NetDev*> Network::slaves(const NetDev& bond) const {
  std::vector<const NetDev*> out;
  for (const NetDev& dev : devs)
    if (dev.master == bond.name) out.push_back(&dev);
  return out;
}

void finish(Network& network) {
  std::sort(network.devs.begin(), network.devs.end(),
            [](const NetDev& a, const NetDev& b) { return a.ifindex < b.ifindex; });
  for (NetDev& dev : network.devs)
    dev.default_route =
        std::any_of(network.routes.begin(), network.routes.end(), [&dev](const Route& route) {
          return route.main_table && route.dst.length == 0 && route.ifindex == dev.ifindex;
        });
}

Network read_network(const std::string& sysfs_root) {
  if (sysfs_root == "/sys") return read_rtnetlink();
  const FileText file = FileTree(sysfs_root).read("nnd-netlink.json", std::size_t{4} << 20);
  if (file.ok()) return parse_netlink_json(file.text);
  Network network;
  network.error = "no nnd-netlink.json under the sysfs root";
  return network;
}

}  // namespace nnd::facts
