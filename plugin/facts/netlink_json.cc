// The file that stands for rtnetlink where sysfs is not the machine's own. Schema: netdev.h.
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "facts/netdev.h"

namespace nnd::facts {

namespace {

using nlohmann::json;

std::string text_of(const json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
}

// 0 for what is not a whole number between 0 and the largest int.
int number_of(const json& object, const char* key) {
  const auto it = object.find(key);
  if (it == object.end() || !it->is_number_unsigned()) return 0;
  const auto value = it->get<std::uint64_t>();
  return value <= static_cast<std::uint64_t>(std::numeric_limits<int>::max())
             ? static_cast<int>(value)
             : 0;
}

const json& array_of(const json& object, const char* key) {
  static const json kEmpty = json::array();
  const auto it = object.find(key);
  return it != object.end() && it->is_array() ? *it : kEmpty;
}

void read_link(const json& entry, Network& network) {
  NetDev dev;
  dev.ifindex = number_of(entry, "ifindex");
  dev.name = text_of(entry, "name");
  if (dev.ifindex == 0 || dev.name.empty() || network.find(dev.ifindex)) return;
  const std::string state = text_of(entry, "operstate");
  if (!state.empty()) dev.operstate = state;
  dev.mtu = static_cast<unsigned>(number_of(entry, "mtu"));
  dev.speed_mbps = number_of(entry, "speed_mbps");
  dev.master = text_of(entry, "master");
  dev.parent = text_of(entry, "parent");
  dev.kind = text_of(entry, "kind");
  dev.vlan_id = number_of(entry, "vlan_id");
  for (auto [key, setting] :
       {std::pair{"arp_ignore", &dev.arp_ignore}, std::pair{"rp_filter", &dev.rp_filter}})
    if (entry.contains(key)) *setting = number_of(entry, key);
  for (const json& address : array_of(entry, "addrs"))
    if (address.is_string())
      if (const auto prefix = parse_prefix(address.get<std::string>()))
        dev.addresses.push_back(*prefix);
  network.devs.push_back(std::move(dev));
}

void read_route(const json& entry, Network& network) {
  const NetDev* dev = network.find(text_of(entry, "dev"));
  if (!dev) return;
  Route route;
  route.ifindex = dev->ifindex;
  route.metric = static_cast<unsigned>(number_of(entry, "metric"));
  if (const auto via = parse_address(text_of(entry, "via"))) route.via = *via;
  const std::string dst = text_of(entry, "dst");
  if (dst == "default") {
    route.dst.address.family = route.via.family == Family::kNone ? Family::kIpv4 : route.via.family;
  } else {
    const auto prefix = parse_prefix(dst);
    if (!prefix) return;
    route.dst = *prefix;
  }
  network.routes.push_back(route);
}

void read_neighbour(const json& entry, Network& network) {
  const NetDev* dev = network.find(text_of(entry, "dev"));
  const auto dst = parse_address(text_of(entry, "dst"));
  if (dev && dst) network.neighbours.push_back({*dst, dev->ifindex, text_of(entry, "state")});
}

}  // namespace

Network parse_netlink_json(std::string_view text) {
  Network network;
  const json root = json::parse(text, nullptr, false);
  if (!root.is_object()) {
    network.error = "nnd-netlink.json is not a JSON object";
    return network;
  }
  for (const json& entry : array_of(root, "links"))
    if (entry.is_object()) read_link(entry, network);
  for (const json& entry : array_of(root, "routes"))
    if (entry.is_object()) read_route(entry, network);
  for (const json& entry : array_of(root, "neighbours"))
    if (entry.is_object()) read_neighbour(entry, network);
  network.known = true;
  network.routes_complete = true;
  finish(network);
  return network;
}

}  // namespace nnd::facts
