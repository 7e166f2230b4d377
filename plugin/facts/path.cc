#include "facts/path.h"

#include <algorithm>
#include <string>

#include "facts/subnet.h"
#include "facts/sysfs.h"

namespace nnd::facts {

namespace {

// The same from the file that stands for the kernel.
Hop hop_in(const Network& network, const IpAddress& to, int ifindex) {
  Hop out;
  if (const Route* const route = route_by(network, to, ifindex)) out.gateway = route->via;
  const IpAddress next = out.gateway.family == Family::kNone ? to : out.gateway;
  for (const Neighbour& one : network.neighbours)
    if (one.ifindex == ifindex && one.dst == next) out.neighbour = one.state;
  return out;
}

// The larger of what is set for all interfaces and for this one (ip-sysctl.rst of the kernel).
int arp_setting(const std::string& netdev, const std::string& name) {
  const FileTree conf("/proc/sys/net/ipv4/conf");
  const auto all = conf.read_number("all/" + name), own = conf.read_number(netdev + "/" + name);
  return all && own ? static_cast<int>(std::max(*all, *own)) : -1;
}

// Interfaces of HCAs alone: what else a node has there carries no RDMA.
void add_sharing(const Node& node, const IpPrefix& own, diagnosis::Path& out) {
  for (const Hca& hca : node.hcas)
    for (const Port& port : hca.ports)
      for (const Gid& gid : port.gids) {
        if (!gid.address || gid.address->network_text() != own.network_text()) continue;
        const NetDev* const dev = node.network.find(gid.owner_ifindex);
        if (dev != nullptr &&
            std::find(out.sharing.begin(), out.sharing.end(), dev->name) == out.sharing.end())
          out.sharing.push_back(dev->name);
      }
  out.subnet = own.network_text();
}

}  // namespace

diagnosis::Path path_to(const Node& node, std::string_view device, unsigned port, int gid_index,
                        const context::Gid& remote) {
  diagnosis::Path out;
  const Port* const at = node.find(device, port);
  const Gid* const local = at == nullptr || !at->ethernet() ? nullptr : at->gid(gid_index);
  const NetDev* const dev = local == nullptr ? nullptr : node.network.find(local->owner_ifindex);
  if (dev == nullptr || context::gid_zero(remote)) return out;
  const IpAddress from = gid_address(local->raw), to = gid_address(remote);
  if (from.family != to.family) return out;
  const bool real = node.sysfs == "/sys";
  const Network now = real ? Network() : read_network(node.sysfs);
  const Hop hop = real ? ask_hop(to, from, dev->ifindex) : hop_in(now, to, dev->ifindex);
  out.netdev = dev->name;
  out.remote = to.text();
  if (hop.gateway.family != Family::kNone) out.gateway = hop.gateway.text();
  out.error = hop.error;
  out.neighbour = hop.neighbour;
  if (to.family != Family::kIpv4 || !local->address || !local->address->contains(to)) return out;
  add_sharing(node, *local->address, out);
  if (real) {
    out.arp_ignore = arp_setting(dev->name, "arp_ignore");
    out.rp_filter = arp_setting(dev->name, "rp_filter");
  } else if (const NetDev* const made = now.find(dev->name)) {
    out.arp_ignore = made->arp_ignore;
    out.rp_filter = made->rp_filter;
  }
  return out;
}

}  // namespace nnd::facts
