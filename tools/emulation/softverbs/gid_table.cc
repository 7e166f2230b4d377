#include <algorithm>
#include <cstdio>

#include "softverbs/scenario_parse.h"

namespace softverbs {

namespace {

// The IPv6 link-local address that the kernel derives from a MAC (EUI-64).
Gid link_local_of(const std::string& mac) {
  unsigned b[6] = {};
  std::sscanf(mac.c_str(), "%x:%x:%x:%x:%x:%x", &b[0], &b[1], &b[2], &b[3], &b[4], &b[5]);
  const auto byte = [&](int i) { return static_cast<std::uint8_t>(b[i]); };
  return {0xfe,    0x80,    0,
          0,       0,       0,
          0,       0,       static_cast<std::uint8_t>(byte(0) ^ 2),
          byte(1), byte(2), 0xff,
          0xfe,    byte(3), byte(4),
          byte(5)};
}

void fill_rest(Port& port) {
  for (int index = static_cast<int>(port.gids.size()); index < port.gid_table; ++index) {
    Gid gid = port.gids.front().gid;  // unique per port by its MAC
    gid[0] = 0xfd;
    gid[1] = 0;
    gid[6] = static_cast<std::uint8_t>(index >> 8);
    gid[7] = static_cast<std::uint8_t>(index);
    port.gids.push_back({index, gid, index % 2 ? GidType::kRoceV2 : GidType::kRoceV1, port.netdev});
  }
}

}  // namespace

void fill_gids(const Hca& hca, const Host& host, const Gid& subnet_prefix, bool fill_all,
               Port& port) {
  if (port.link_layer != LinkLayer::kEthernet) {
    Gid gid = subnet_prefix;
    const std::uint64_t guid = hca.node_guid + static_cast<std::uint64_t>(port.number);
    for (std::size_t i = 0; i < 8; ++i)
      gid[8 + i] = static_cast<std::uint8_t>(guid >> (56 - 8 * i));
    port.gids = {{0, gid, GidType::kIb, ""}};
    return;
  }
  const Netdev* netdev = host.find_netdev(port.netdev);
  if (!netdev) return;
  int index = 0;
  const auto add = [&](const Gid& gid) {
    if (hca.look != Look::kRxe)  // rxe knows RoCE v2 only
      port.gids.push_back({index++, gid, GidType::kRoceV1, port.netdev});
    port.gids.push_back({index++, gid, GidType::kRoceV2, port.netdev});
  };
  add(link_local_of(netdev->mac));
  for (const Prefix& prefix : netdev->addresses)
    if (!is_link_local(prefix.address)) add(prefix.address);
  if (fill_all) fill_rest(port);
}

}  // namespace softverbs
