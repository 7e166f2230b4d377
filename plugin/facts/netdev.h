// Network interfaces, addresses, routes and neighbours of this network namespace, read by
// rtnetlink.
//
// With a sysfs root other than "/sys" (tests, emulated hosts) they come from
// <root>/nnd-netlink.json instead. Every key is optional unless said; what has a wrong type is left
// out, entry by entry; a missing or broken file means that nothing is known:
//
//   {"links": [{"ifindex": 2, "name": "ens1",        both required
//               "operstate": "up", "mtu": 9000, "speed_mbps": 200000,
//               "master": "bond0",                    the bond or bridge above it
//               "parent": "ens1",                     the lower device of a VLAN or macvlan
//               "kind": "bond",                       as `ip -d link` says; "" for hardware
//               "vlan_id": 100,
//               "arp_ignore": 1, "rp_filter": 2,      as in force there, "all" included
//               "addrs": ["10.0.1.2/24", "fd00::2/64"]}],
//    "routes": [{"dst": "10.2.0.0/16", "dev": "ens1",  both required; dst may be "default"
//                "via": "10.0.1.1", "metric": 100, "src": "10.0.1.2"}],
//    "neighbours": [{"dst": "10.0.1.9", "dev": "ens1", "state": "reachable"}]}
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "facts/ip.h"

namespace nnd::facts {

struct NetDev {
  int ifindex = 0;
  std::string name;
  std::string operstate = "unknown";  // as /sys/class/net/<if>/operstate says it
  unsigned mtu = 0;                   // bytes; 0: not known
  long speed_mbps = 0;                // 0: not known
  std::string master;                 // empty: none
  std::string parent;                 // lower device of a VLAN, macvlan or ipvlan
  std::string kind;                   // "bond", "vlan", ...; empty for hardware
  int vlan_id = 0;
  bool default_route = false;  // a default route leaves by it (main table)
  // Of the file that stands for the kernel alone; -1: not said.
  int arp_ignore = -1;
  int rp_filter = -1;
  std::vector<IpPrefix> addresses;

  bool is_bond() const { return kind == "bond" || kind == "team"; }
  bool operator==(const NetDev&) const = default;
};

struct Route {
  IpPrefix dst;     // length 0: default
  IpAddress via;    // none: on link
  int ifindex = 0;  // 0: could not be told (a next hop of another kind)
  unsigned metric = 0;
  bool main_table = true;

  bool operator==(const Route&) const = default;
};

struct Neighbour {
  IpAddress dst;
  int ifindex = 0;
  std::string state;  // "reachable", "stale", "failed", ...
};

struct Network {
  bool known = false;            // links and addresses were read
  bool routes_complete = false;  // every unicast route of every table is listed
  std::string error;             // why something is missing
  std::vector<NetDev> devs;      // by ifindex
  std::vector<Route> routes;
  std::vector<Neighbour> neighbours;

  const NetDev* find(int ifindex) const;
  const NetDev* find(std::string_view name) const;
  // The interface that has this address: `preferred` and what it is enslaved to first.
  const NetDev* owner(const IpAddress& address, const NetDev* preferred,
                      IpPrefix* prefix = nullptr) const;
  std::vector<const NetDev*> slaves(const NetDev& bond) const;
};

// Reads all at once: some ten system calls; at most 20,000 routes (more: routes_complete is false).
// Never fails: what is missing is said in `error`.
Network read_network(const std::string& sysfs_root);

// Where packets to an address go by this interface, as RDMA asks for it, and what the kernel knows
// of that neighbour.
struct Hop {
  IpAddress gateway;      // none: on link
  int error = 0;          // errno that the look-up ended with
  std::string neighbour;  // "failed", ..., "none": no entry; empty: not known
};
Hop ask_hop(const IpAddress& to, const IpAddress& from, int ifindex);

// The two sources, for tests.
Network read_rtnetlink();
Network parse_netlink_json(std::string_view json);

// Fills in which devices carry a default route.
void finish(Network& network);

}  // namespace nnd::facts
