// The way to a peer: as a kernel has it, in a network namespace of this test's own, and as the file
// that stands for the kernel has it.
#include "facts/path.h"

#include <net/if.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>

#include "support/catch.h"
#include "support/forked.h"
#include "support/skip.h"
#include "tree.h"

using namespace nnd::facts;

namespace {

// A cable with nobody at its other end, two addresses, a gateway, and neighbours as they may be.
bool wired() {
  if (unshare(CLONE_NEWNET) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) return false;
  return std::system(
             "(ip link add v0 type veth peer name v1 && ip link set v1 up && ip link set v0 up &&"
             " ip addr add 10.9.0.1/24 dev v0 && ip -6 addr add fd00::1/64 dev v0 nodad &&"
             " ip route add 10.8.0.0/16 via 10.9.0.254 dev v0 &&"
             " ip route add unreachable 10.7.0.0/16 &&"
             " ip neigh add 10.9.0.2 dev v0 nud failed &&"
             " ip neigh add 10.9.0.254 lladdr 02:00:00:00:00:01 dev v0 nud permanent &&"
             " ip neigh add fd00::2 lladdr 02:00:00:00:00:02 dev v0 nud reachable) >/dev/null "
             "2>&1") == 0;
}

Hop hop_to(const char* to, const char* from) {
  return ask_hop(*parse_address(to), *parse_address(from),
                 static_cast<int>(::if_nametoindex("v0")));
}

nnd::context::Gid mapped(const char* address) {
  nnd::context::Gid out{};
  const IpAddress ip = *parse_address(address);
  out[10] = out[11] = 0xff;
  std::copy_n(ip.bytes.begin(), 4, out.begin() + 12);
  return out;
}

}  // namespace

TEST_CASE("the kernel says by which gateway, and how the neighbour is") {
  if (!nnd::test::holds_in_child(wired)) NND_SKIP("no network namespace with a veth can be made");
  const auto holds = [](auto&& body) {
    return nnd::test::holds_in_child([&] { return wired() && body(); });
  };
  CHECK(holds([] {
    const Hop hop = hop_to("10.9.0.2", "10.9.0.1");
    return hop.error == 0 && hop.gateway.family == Family::kNone && hop.neighbour == "failed";
  }));
  CHECK(holds([] { return hop_to("10.9.0.3", "10.9.0.1").neighbour == "none"; }));
  CHECK(holds([] {
    const Hop hop = hop_to("10.8.3.4", "10.9.0.1");
    return hop.gateway.text() == "10.9.0.254" && hop.neighbour == "permanent";
  }));
  CHECK(holds([] { return hop_to("fd00::2", "fd00::1").neighbour == "reachable"; }));
  CHECK(holds([] {
    const Hop hop = hop_to("fd77::2", "fd00::1");
    return hop.error == ENETUNREACH && hop.neighbour.empty();
  }));
}

TEST_CASE("the way from an HCA's port, and the interfaces that share its subnet") {
  test::Tree tree;
  tree.write("nnd-netlink.json", R"({"links": [
    {"ifindex": 2, "name": "ens2", "addrs": ["10.0.0.2/24"], "arp_ignore": 0, "rp_filter": 2},
    {"ifindex": 3, "name": "ens3", "addrs": ["10.0.0.3/24"]},
    {"ifindex": 4, "name": "eno1", "addrs": ["10.0.0.4/24"]}],
    "neighbours": [{"dst": "10.0.0.9", "dev": "ens2", "state": "failed"}]})");
  Node node;
  node.sysfs = tree.root();
  node.network = read_network(node.sysfs);
  for (const auto& [name, dev, address] :
       {std::tuple{"mlx5_0", "ens2", "10.0.0.2"}, std::tuple{"mlx5_1", "ens3", "10.0.0.3"}}) {
    Hca hca;
    hca.name = name;
    Port port;
    port.link_layer = 2;
    Gid gid;
    gid.index = 3;
    gid.raw = mapped(address);
    gid.address = parse_prefix(std::string(address) + "/24");
    gid.owner_ifindex = node.network.find(dev)->ifindex;
    port.gids.push_back(gid);
    hca.ports.push_back(port);
    node.hcas.push_back(hca);
  }
  const auto path = path_to(node, "mlx5_0", 1, 3, mapped("10.0.0.9"));
  CHECK(path.netdev == "ens2");
  CHECK(path.remote == "10.0.0.9");
  CHECK(path.neighbour == "failed");
  CHECK(path.subnet == "10.0.0.0/24");
  CHECK(path.sharing == std::vector<std::string>{"ens2", "ens3"});  // eno1 carries no RDMA
  CHECK(path.arp_ignore == 0);
  CHECK(path.rp_filter == 2);
  CHECK(path_to(node, "mlx5_1", 1, 3, mapped("10.0.0.9")).arp_ignore == -1);
  CHECK(path_to(node, "mlx5_0", 1, 3, mapped("10.1.0.9")).sharing.empty());  // another subnet
  CHECK(path_to(node, "mlx5_0", 1, 5, mapped("10.0.0.9")).netdev.empty());   // no such GID
}
