#include "facts/rtnetlink_parse.h"

#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>

namespace nnd::facts::rtnetlink {

namespace {

// The attributes of one message, by type.
class Attributes {
 public:
  Attributes(const char* data, std::size_t length) {
    while (length >= sizeof(rtattr)) {
      rtattr header;
      std::memcpy(&header, data, sizeof header);
      if (header.rta_len < sizeof header || header.rta_len > length) return;
      found_[header.rta_type & NLA_TYPE_MASK] = {data + RTA_LENGTH(0),
                                                 header.rta_len - RTA_LENGTH(0)};
      const std::size_t step = std::min<std::size_t>(RTA_ALIGN(header.rta_len), length);
      data += step;
      length -= step;
    }
  }

  std::string_view raw(int type) const {
    const auto it = found_.find(type);
    return it == found_.end() ? std::string_view() : it->second;
  }
  template <typename T>
  T value(int type) const {
    T out{};
    const auto data = raw(type);
    if (data.size() >= sizeof out) std::memcpy(&out, data.data(), sizeof out);
    return out;
  }
  std::string text(int type) const {
    const auto data = raw(type);
    return std::string(data.substr(0, data.find('\0')));
  }
  IpAddress address(int type, int family) const {
    IpAddress out;
    const auto data = raw(type);
    const std::size_t size = family == AF_INET ? 4 : 16;
    if (data.size() != size) return out;
    out.family = family == AF_INET ? Family::kIpv4 : Family::kIpv6;
    std::memcpy(out.bytes.data(), data.data(), size);
    return out;
  }

 private:
  std::map<int, std::string_view> found_;
};

template <typename Body>
Attributes split(const nlmsghdr& header, Body& body) {
  const char* data = reinterpret_cast<const char*>(&header) + NLMSG_HDRLEN;
  const std::size_t length = header.nlmsg_len - NLMSG_HDRLEN;
  const std::size_t skip = NLMSG_ALIGN(sizeof(Body));
  if (length < sizeof(Body)) return {nullptr, 0};
  std::memcpy(&body, data, sizeof body);
  return length > skip ? Attributes(data + skip, length - skip) : Attributes(nullptr, 0);
}

const char* operstate_text(std::uint8_t state) {
  static constexpr std::array<const char*, 7> kNames = {
      "unknown", "notpresent", "down", "lowerlayerdown", "testing", "dormant", "up"};
  return state < kNames.size() ? kNames[state] : "unknown";
}

const char* neighbour_text(std::uint16_t state) {
  switch (state) {
    case NUD_INCOMPLETE:
      return "incomplete";
    case NUD_REACHABLE:
      return "reachable";
    case NUD_STALE:
      return "stale";
    case NUD_DELAY:
      return "delay";
    case NUD_PROBE:
      return "probe";
    case NUD_FAILED:
      return "failed";
    case NUD_NOARP:
      return "noarp";
    case NUD_PERMANENT:
      return "permanent";
    default:
      return "none";
  }
}

int error_of(const char* at, const nlmsghdr& header) {
  nlmsgerr error{};
  if (header.nlmsg_len < NLMSG_LENGTH(sizeof error)) return EPROTO;
  std::memcpy(&error, at + NLMSG_HDRLEN, sizeof error);
  if (error.error == 0) return 0;
  return error.error < 0 && error.error > -4096 ? -error.error : EPROTO;
}

}  // namespace

Walked walk(std::string_view received, std::uint32_t sequence,
            const std::function<void(const nlmsghdr&)>& take) {
  const char* at = received.data();
  std::size_t left = received.size();
  while (left >= sizeof(nlmsghdr)) {
    nlmsghdr header;
    std::memcpy(&header, at, sizeof header);
    if (header.nlmsg_len < sizeof header || header.nlmsg_len > left) break;
    if (header.nlmsg_seq == sequence) {
      if (header.nlmsg_type == NLMSG_DONE) return {true, 0};
      if (header.nlmsg_type == NLMSG_ERROR) return {true, error_of(at, header)};
      take(*reinterpret_cast<const nlmsghdr*>(at));
    }
    const std::size_t step = std::min<std::size_t>(NLMSG_ALIGN(header.nlmsg_len), left);
    at += step;
    left -= step;
  }
  return {};
}

void take_link(const nlmsghdr& header, Network& network, std::vector<Relations>& relations) {
  ifinfomsg body{};
  const Attributes attributes = split(header, body);
  if (header.nlmsg_type != RTM_NEWLINK || body.ifi_index <= 0) return;
  NetDev dev;
  dev.ifindex = body.ifi_index;
  dev.name = attributes.text(IFLA_IFNAME);
  dev.mtu = attributes.value<std::uint32_t>(IFLA_MTU);
  dev.operstate = operstate_text(attributes.value<std::uint8_t>(IFLA_OPERSTATE));
  const auto info = attributes.raw(IFLA_LINKINFO);
  const Attributes link_info(info.data(), info.size());
  dev.kind = link_info.text(IFLA_INFO_KIND);
  if (dev.kind == "vlan") {
    const auto data = link_info.raw(IFLA_INFO_DATA);
    dev.vlan_id = Attributes(data.data(), data.size()).value<std::uint16_t>(IFLA_VLAN_ID);
  }
  Relations relation;
  relation.master = attributes.value<int>(IFLA_MASTER);
  // A veth's "link" is its peer, which may live in another namespace under the same number.
  if (dev.kind == "vlan" || dev.kind == "macvlan" || dev.kind == "ipvlan")
    relation.link = attributes.value<int>(IFLA_LINK);
  network.devs.push_back(std::move(dev));
  relations.push_back(relation);
}

void take_address(const nlmsghdr& header, Network& network) {
  ifaddrmsg body{};
  const Attributes attributes = split(header, body);
  if (header.nlmsg_type != RTM_NEWADDR ||
      (body.ifa_family != AF_INET && body.ifa_family != AF_INET6))
    return;
  // On point-to-point IPv4 links ADDRESS is the peer and LOCAL is ours.
  IpAddress own = attributes.address(IFA_LOCAL, body.ifa_family);
  if (own.family == Family::kNone) own = attributes.address(IFA_ADDRESS, body.ifa_family);
  if (own.family == Family::kNone) return;
  for (NetDev& dev : network.devs)
    if (dev.ifindex == static_cast<int>(body.ifa_index))
      dev.addresses.push_back({own, body.ifa_prefixlen});
}

void take_route(const nlmsghdr& header, Network& network) {
  rtmsg body{};
  const Attributes attributes = split(header, body);
  if (header.nlmsg_type != RTM_NEWROUTE || body.rtm_type != RTN_UNICAST ||
      (body.rtm_flags & RTM_F_CLONED) != 0 ||
      (body.rtm_family != AF_INET && body.rtm_family != AF_INET6))
    return;
  Route route;
  const auto table = attributes.value<std::uint32_t>(RTA_TABLE);
  route.main_table = (table != 0 ? table : body.rtm_table) == RT_TABLE_MAIN;
  route.metric = attributes.value<std::uint32_t>(RTA_PRIORITY);
  route.dst.address = attributes.address(RTA_DST, body.rtm_family);
  route.dst.address.family = body.rtm_family == AF_INET ? Family::kIpv4 : Family::kIpv6;
  route.dst.length = body.rtm_dst_len;
  route.via = attributes.address(RTA_GATEWAY, body.rtm_family);
  route.ifindex = attributes.value<int>(RTA_OIF);
  const auto hops = attributes.raw(RTA_MULTIPATH);
  if (route.ifindex != 0 || hops.empty()) {
    network.routes.push_back(route);
    return;
  }
  for (std::size_t at = 0; at + sizeof(rtnexthop) <= hops.size();) {
    rtnexthop hop;
    std::memcpy(&hop, hops.data() + at, sizeof hop);
    if (hop.rtnh_len < sizeof hop || at + hop.rtnh_len > hops.size()) break;
    const Attributes of_hop(hops.data() + at + RTNH_LENGTH(0), hop.rtnh_len - RTNH_LENGTH(0));
    route.ifindex = hop.rtnh_ifindex;
    route.via = of_hop.address(RTA_GATEWAY, body.rtm_family);
    network.routes.push_back(route);
    at += RTNH_ALIGN(hop.rtnh_len);
  }
}

void take_neighbour(const nlmsghdr& header, Network& network) {
  ndmsg body{};
  const Attributes attributes = split(header, body);
  if (header.nlmsg_type != RTM_NEWNEIGH ||
      (body.ndm_family != AF_INET && body.ndm_family != AF_INET6))
    return;
  const IpAddress dst = attributes.address(NDA_DST, body.ndm_family);
  if (dst.family != Family::kNone)
    network.neighbours.push_back({dst, body.ndm_ifindex, neighbour_text(body.ndm_state)});
}

void take_gateway(const nlmsghdr& header, IpAddress& gateway) {
  rtmsg body{};
  const Attributes attributes = split(header, body);
  if (header.nlmsg_type == RTM_NEWROUTE) gateway = attributes.address(RTA_GATEWAY, body.rtm_family);
}

void take_state(const nlmsghdr& header, std::string& state) {
  ndmsg body{};
  split(header, body);
  if (header.nlmsg_type == RTM_NEWNEIGH) state = neighbour_text(body.ndm_state);
}

void name_relations(const std::vector<Relations>& relations, Network& network) {
  for (std::size_t i = 0; i < network.devs.size(); ++i) {
    if (const NetDev* master = network.find(relations[i].master))
      network.devs[i].master = master->name;
    if (const NetDev* parent = network.find(relations[i].link))
      network.devs[i].parent = parent->name;
  }
}

}  // namespace nnd::facts::rtnetlink
