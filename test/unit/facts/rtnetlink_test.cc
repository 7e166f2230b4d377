#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "facts/rtnetlink_parse.h"
#include "support/catch.h"

using namespace nnd::facts;
using namespace nnd::facts::rtnetlink;

namespace {

constexpr std::uint32_t kSequence = 7;

template <typename T>
std::string bytes(const T& value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string padded(std::string text) {
  text.resize((text.size() + 3) / 4 * 4);
  return text;
}

std::string attribute(unsigned short type, const std::string& data) {
  rtattr header{};
  header.rta_len = static_cast<unsigned short>(RTA_LENGTH(data.size()));
  header.rta_type = type;
  return padded(bytes(header) + data);
}

template <typename Body>
std::string message(std::uint16_t type, const Body& body, const std::string& attributes,
                    std::uint32_t sequence = kSequence) {
  nlmsghdr header{};
  const std::string payload = padded(bytes(body)) + attributes;
  header.nlmsg_len = static_cast<std::uint32_t>(NLMSG_LENGTH(payload.size()));
  header.nlmsg_type = type;
  header.nlmsg_seq = sequence;
  return bytes(header) + payload;
}

std::string link(int index, const char* name, const std::string& more = "") {
  ifinfomsg body{};
  body.ifi_index = index;
  return message(RTM_NEWLINK, body, attribute(IFLA_IFNAME, std::string(name) + '\0') + more);
}

std::string kind(const char* name, const std::string& data = "") {
  return attribute(IFLA_LINKINFO, attribute(IFLA_INFO_KIND, name) +
                                      (data.empty() ? "" : attribute(IFLA_INFO_DATA, data)));
}

std::string ip4(unsigned a, unsigned b, unsigned c, unsigned d) {
  return {static_cast<char>(a), static_cast<char>(b), static_cast<char>(c), static_cast<char>(d)};
}

Network parse(const std::string& text, Walked* walked = nullptr) {
  Network network;
  std::vector<Relations> relations;
  const Walked out = walk(text, kSequence, [&](const nlmsghdr& header) {
    take_link(header, network, relations);
    take_address(header, network);
    take_route(header, network);
    take_neighbour(header, network);
  });
  name_relations(relations, network);
  if (walked) *walked = out;
  return network;
}

}  // namespace

TEST_CASE("links: kinds, masters, VLANs") {
  const Network network =
      parse(link(2, "bond0",
                 kind("bond") + attribute(IFLA_MTU, bytes(std::uint32_t{9000})) +
                     attribute(IFLA_OPERSTATE, bytes(std::uint8_t{6}))) +
            link(3, "eno1", attribute(IFLA_MASTER, bytes(2))) +
            link(4, "bond0.100",
                 kind("vlan", attribute(IFLA_VLAN_ID, bytes(std::uint16_t{100}))) +
                     attribute(IFLA_LINK, bytes(2))) +
            link(5, "veth0", kind("veth") + attribute(IFLA_LINK, bytes(2))));
  REQUIRE(network.devs.size() == 4);
  CHECK(network.devs[0].is_bond());
  CHECK(network.devs[0].mtu == 9000);
  CHECK(network.devs[0].operstate == "up");
  CHECK(network.devs[1].master == "bond0");
  CHECK(network.devs[2].parent == "bond0");
  CHECK(network.devs[2].vlan_id == 100);
  CHECK(network.devs[3].parent.empty());  // a veth's link is its peer's number elsewhere
}

TEST_CASE("addresses, routes and neighbours") {
  ifaddrmsg address{};
  address.ifa_family = AF_INET;
  address.ifa_prefixlen = 24;
  address.ifa_index = 2;
  rtmsg route{};
  route.rtm_family = AF_INET;
  route.rtm_type = RTN_UNICAST;
  route.rtm_table = RT_TABLE_MAIN;
  rtnexthop hop{};
  const std::string via = attribute(RTA_GATEWAY, ip4(10, 0, 0, 1));
  hop.rtnh_len = static_cast<unsigned short>(RTNH_LENGTH(via.size()));
  hop.rtnh_ifindex = 2;
  ndmsg neighbour{};
  neighbour.ndm_family = AF_INET;
  neighbour.ndm_ifindex = 2;
  neighbour.ndm_state = NUD_FAILED;
  rtmsg cloned = route;
  cloned.rtm_flags = RTM_F_CLONED;
  const Network network =
      parse(link(2, "eth0") +
            message(RTM_NEWADDR, address,
                    attribute(IFA_ADDRESS, ip4(10, 0, 0, 9)) +  // the peer, on such links
                        attribute(IFA_LOCAL, ip4(10, 0, 0, 2))) +
            message(RTM_NEWROUTE, route, attribute(RTA_MULTIPATH, bytes(hop) + via)) +
            message(RTM_NEWROUTE, cloned, attribute(RTA_OIF, bytes(2))) +
            message(RTM_NEWNEIGH, neighbour, attribute(NDA_DST, ip4(10, 0, 0, 7))));
  REQUIRE(network.devs.at(0).addresses.size() == 1);
  CHECK(network.devs[0].addresses[0].text() == "10.0.0.2/24");
  REQUIRE(network.routes.size() == 1);
  CHECK(network.routes[0].ifindex == 2);
  CHECK(network.routes[0].main_table);
  CHECK(network.routes[0].via.text() == "10.0.0.1");
  REQUIRE(network.neighbours.size() == 1);
  CHECK(network.neighbours[0].dst.text() == "10.0.0.7");
  CHECK(network.neighbours[0].state == "failed");
}

TEST_CASE("answers of others, ends, errors, and what is cut off") {
  Walked walked;
  ifinfomsg body{};
  body.ifi_index = 9;
  const std::string other = message(RTM_NEWLINK, body, attribute(IFLA_IFNAME, "eth9"), 6);
  const std::string done = message(NLMSG_DONE, 0, "");
  CHECK(parse(other + done + link(2, "eth0"), &walked).devs.empty());
  CHECK(walked.over);
  CHECK(walked.error == 0);
  nlmsgerr refused{};
  refused.error = -EPERM;
  parse(message(NLMSG_ERROR, refused, ""), &walked);
  CHECK(walked.over);
  CHECK(walked.error == EPERM);
  refused.error = INT32_MIN;
  parse(message(NLMSG_ERROR, refused, ""), &walked);
  CHECK(walked.error == EPROTO);
  std::string cut = link(2, "eth0") + link(3, "eth1");
  cut.resize(cut.size() - 4);
  CHECK(parse(cut, &walked).devs.size() == 1);
  CHECK_FALSE(walked.over);
}
