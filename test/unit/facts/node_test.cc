#include "facts/node.h"

#include <fmt/format.h>

#include <cerrno>

#include "support/catch.h"
#include "tree.h"

using namespace nnd::facts;
using namespace nnd::facts::test;

namespace {

// Eight 400 Gbit/s rails, each in its own subnet, and a 25 Gbit/s bond with the default route.
struct RoceNode {
  Tree tree;
  std::vector<VerbsDevice> devices;

  RoceNode() {
    std::string links;
    for (int i = 0; i < 8; ++i) {
      const std::string name = fmt::format("mlx5_{}", i);
      const std::string pci = fmt::format("0000:{:02x}:00.0", 0x10 + i);
      const std::string netdev = fmt::format("ens{}", i);
      test::add_hca(tree, name, pci, netdev);
      links += fmt::format(
          R"({{"ifindex": {}, "name": "{}", "operstate": "up", "mtu": 9000, "addrs": ["10.0.{}.2/24"]}},)",
          10 + i, netdev, i);
      devices.push_back(
          device(name, {roce_port({
                           verbs_gid(0, "fe80::1", GidType::kRoceV1, 10 + i),
                           verbs_gid(1, "fe80::1", GidType::kRoceV2, 10 + i),
                           verbs_gid(2, fmt::format("10.0.{}.2", i), GidType::kRoceV1, 10 + i),
                           verbs_gid(3, fmt::format("10.0.{}.2", i), GidType::kRoceV2, 10 + i),
                       })}));
      for (int gid = 0; gid < 4; ++gid)
        tree.write(port_dir(name, pci) + fmt::format("gid_attrs/types/{}", gid),
                   gid % 2 ? "RoCE v2\n" : "IB/RoCE v1\n");
    }
    test::add_hca(tree, "mlx5_bond_0", "0000:30:00.0");
    // verbs tells neither type nor netdev here: sysfs does
    const std::string at = port_dir("mlx5_bond_0", "0000:30:00.0");
    tree.write(at + "rate", "25 Gb/sec (1X EDR)\n")
        .write(at + "gid_attrs/types/0", "IB/RoCE v1\n")
        .write(at + "gid_attrs/types/1", "RoCE v2\n")
        .write(at + "gid_attrs/ndevs/0", "bond0\n")
        .write(at + "gid_attrs/ndevs/1", "bond0\n")
        .write("class/net/bond0/bonding/slaves", "eth0 eth1\n")
        .write("class/net/bond0/bonding/mode", "802.3ad 4\n");
    VerbsPort port = roce_port({verbs_gid(0, "10.100.0.2"), verbs_gid(1, "10.100.0.2")});
    port.active_speed = 32;
    port.active_width = 1;
    port.active_mtu = 3;
    devices.push_back(device("mlx5_bond_0", {port}));
    links += R"({"ifindex": 30, "name": "bond0", "kind": "bond", "addrs": ["10.100.0.2/16"]},
                {"ifindex": 31, "name": "eth0", "master": "bond0"},
                {"ifindex": 32, "name": "eth1", "master": "bond0"})";
    tree.write("nnd-netlink.json",
               "{\"links\": [" + links +
                   R"(], "routes": [{"dst": "default", "via": "10.100.0.1", "dev": "bond0"}]})");
  }
};

// The HCAs that should open and don't.
std::vector<std::string> unopened(const Node& node) {
  std::vector<std::string> out;
  for (const Hca& hca : node.hcas)
    if (hca.closed) out.push_back(hca.closed->device);
  return out;
}

bool crashes(const Node& node) { return crash_of(node, node.hcas.front()).has_value(); }

}  // namespace

TEST_CASE("a RoCE node with eight rails and a bond") {
  RoceNode made;
  const Node node = collect(made.devices, sources(made.tree));
  REQUIRE(node.hcas.size() == 9);
  CHECK(unopened(node).empty());

  const Hca& rail = *node.find("mlx5_3");
  CHECK(rail.sysfs_present);
  CHECK(rail.device_path == "devices/pci0000:00/0000:00:01.0/0000:13:00.0");
  CHECK(rail.pci == "0000:13:00.0");
  CHECK(rail.numa == 1);
  CHECK(rail.pcie.current_gts == 32.0);
  CHECK(rail.pcie.max_width == 16);
  CHECK_FALSE(rail.pcie.below_max());
  CHECK(rail.netdev == "ens3");
  CHECK(rail.bond.empty());
  CHECK_FALSE(rail.is_virtual());
  const Port& port = rail.ports.at(0);
  CHECK(port.choice == PortChoice::kTaken);
  CHECK(port.speed_mbps == 400000);
  CHECK(port.width == 4);
  CHECK(port.active_mtu == 4096);
  CHECK(port.pick.index == 3);
  REQUIRE(port.picked());
  CHECK(port.picked()->text() == "::ffff:10.0.3.2");
  CHECK(port.picked()->netdev == "ens3");
  CHECK(port.picked()->subnet() == "10.0.3.0/24");
  CHECK(port.gid(0)->subnet().empty());

  const Hca& bond = *node.find("mlx5_bond_0");
  CHECK(bond.bond == "bond0");
  CHECK(bond.bond_mode == "802.3ad 4");
  REQUIRE(bond.bond_slaves.size() == 2);
  CHECK(bond.bond_slaves[1].name == "eth1");
  CHECK(bond.bond_trouble().empty());
  CHECK(bond.ports[0].speed_mbps == 25000);
  CHECK(bond.ports[0].active_mtu == 1024);
  CHECK(bond.ports[0].pick.index == 1);
  CHECK(bond.ports[0].picked()->type == GidType::kRoceV2);
  CHECK(bond.ports[0].picked()->netdev == "bond0");
  CHECK(bond.ports[0].picked()->subnet() == "10.100.0.0/16");
  CHECK(node.network.find("bond0")->default_route);

  CHECK(hca_summary(node).starts_with("HCAs taken: mlx5_0:1/RoCE 400G, mlx5_1:1/RoCE 400G"));
  CHECK(hca_summary(node).ends_with("mlx5_bond_0:1/RoCE 25G"));
}

TEST_CASE("what NCCL skips has its reason") {
  RoceNode made;
  made.devices[1].ports[0].state = 1;
  made.devices[1].ports[0].phys_state = 3;
  made.devices[2].ports[0].link_layer = 0;
  made.devices[3].ports[0].query_errno = EIO;
  made.devices[4].open_errno = EACCES;
  made.devices[4].ports.clear();
  made.tree.write("dev/infiniband/uverbs0", "");
  const Node node =
      collect(made.devices, sources(made.tree, {{"NCCL_IB_HCA", "^=mlx5_bond_0,mlx5_0"}}));
  CHECK(node.find("mlx5_0")->ports[0].choice == PortChoice::kUserFilter);
  CHECK(node.find("mlx5_0")->ports[0].reasons.at(0) == "excluded by NCCL_IB_HCA entry mlx5_0");
  CHECK(node.find("mlx5_1")->ports[0].choice == PortChoice::kNotActive);
  CHECK(node.find("mlx5_1")->ports[0].reasons.at(0) == "DOWN, Disabled");
  CHECK(node.find("mlx5_2")->ports[0].choice == PortChoice::kLinkLayer);
  CHECK(node.find("mlx5_3")->ports[0].choice == PortChoice::kQueryFailed);
  CHECK(node.find("mlx5_5")->ports[0].choice == PortChoice::kTaken);
  CHECK(node.find("mlx5_bond_0")->ports[0].choice == PortChoice::kUserFilter);
  CHECK(unopened(node) == std::vector<std::string>{"mlx5_4"});
  const std::string summary = hca_summary(node);
  CHECK(summary.find("mlx5_1:1 (DOWN, Disabled)") != std::string::npos);
  CHECK(summary.find("mlx5_4 (Permission denied)") != std::string::npos);
}

TEST_CASE("a user list names what it takes") {
  RoceNode made;
  const Node node =
      collect(made.devices, sources(made.tree, {{"NCCL_IB_HCA", "=mlx5_2:1:5:1"}}, 23007));
  CHECK(node.find("mlx5_2")->ports[0].reasons.at(0) == "NCCL_IB_HCA entry mlx5_2:1");
  CHECK(node.find("mlx5_2")->ports[0].nccl_rail == 5);
  CHECK(node.find("mlx5_2")->ports[0].nccl_plane == 1);
  CHECK(node.find("mlx5_3")->ports[0].reasons.at(0) == "not in NCCL_IB_HCA");
  const Node off = collect(made.devices, sources(made.tree, {{"NCCL_IB_DISABLE", "1"}}));
  for (const Hca& hca : off.hcas) CHECK(hca.ports[0].choice == PortChoice::kIbDisabled);
  CHECK(off.rdma_unwanted);
  CHECK(off.tcp_by == "NCCL_IB_DISABLE=1");
  CHECK(collect({}, sources(made.tree, {{"NCCL_NET", "socket"}})).tcp_by == "NCCL_NET=socket");
  CHECK(collect({}, sources(made.tree, {{"NCCL_NET", "AWS Libfabric"}})).tcp_by.empty());
  CHECK(collect({}, sources(made.tree, {{"NCCL_NET", "Socket"}})).rdma_unwanted);
  CHECK_FALSE(collect({}, sources(made.tree, {{"NCCL_NET", "ib"}})).rdma_unwanted);
  CHECK(
      hca_summary(off).starts_with("HCAs taken: none; skipped: mlx5_0:1 (NCCL_IB_DISABLE is set)"));
}

TEST_CASE("an InfiniBand node") {
  Tree tree;
  test::add_hca(tree, "mlx5_0", "0000:c1:00.0", "ibp1");
  test::add_hca(tree, "mlx5_1", "0000:c2:00.0", "ibp2");
  tree.write("nnd-netlink.json", "{}");
  VerbsPort waiting = ib_port();
  waiting.state = 2;
  waiting.sm_lid = 0;
  const Node node =
      collect({device("mlx5_0", {ib_port()}), device("mlx5_1", {waiting})}, sources(tree));
  CHECK(unopened(node).empty());
  const Port& port = node.hcas[0].ports[0];
  CHECK(port.lid == 17);
  CHECK(port.pick.index == 0);
  CHECK(port.pick.basis == PickBasis::kInfiniband);
  CHECK(port.gids[0].type == GidType::kIb);
  CHECK(node.hcas[1].ports[0].reasons.at(0) == "INIT, no subnet manager");
  CHECK(hca_summary(node) ==
        "HCAs taken: mlx5_0:1/IB 400G; skipped: mlx5_1:1 (INIT, no subnet manager)");
}

TEST_CASE("a virtual function in a container whose sysfs hides GID types") {
  Tree tree;
  test::add_hca(tree, "mlx5_7", "0000:c1:01.2", "net1");
  tree.link("devices/pci0000:00/0000:00:01.0/0000:c1:01.2/physfn", "../0000:c1:00.0")
      .folder("devices/pci0000:00/0000:00:01.0/0000:c1:00.0")
      .write("nnd-netlink.json",
             R"({"links": [{"ifindex": 4, "name": "net1", "addrs": ["192.168.5.3/24"]}]})")
      .write(".dockerenv", "");
  VerbsPort port = roce_port({verbs_gid(0, "fe80::1"), verbs_gid(1, "192.168.5.3")});
  const Node node = collect({device("mlx5_7", {port})}, sources(tree));
  const Hca& hca = node.hcas[0];
  CHECK(hca.physfn == "0000:c1:00.0");
  CHECK(hca.is_virtual());
  // ndevs can't be read either: the one netdev of the device stands in
  CHECK(hca.ports[0].gids[1].netdev == "net1");
  CHECK(hca.ports[0].gids[1].subnet() == "192.168.5.0/24");
  CHECK(hca.ports[0].gids[1].type_error == ENOENT);
  CHECK(hca.ports[0].pick.index == 1);
  CHECK(node.system.container.at(0) == "/.dockerenv");
}

TEST_CASE("a device without a device path crashes NCCL 2.20 to 2.23 only") {
  Tree tree;
  tree.folder("class/infiniband/rxe0/ports/1").write("nnd-netlink.json", "{}");
  const std::vector<VerbsDevice> devices = {device("rxe0", {roce_port({})})};
  for (const int version : {21903, 22403, 22809, 0})
    CHECK_FALSE(crashes(collect(devices, sources(tree, {}, version))));
  for (const int version : {22005, 22304})
    CHECK(crashes(collect(devices, sources(tree, {}, version))));
  CHECK_FALSE(crashes(collect(devices, sources(tree, {{"NCCL_IB_HCA", "^rxe0"}}, 22203))));
}

TEST_CASE("NCCL stops at 32 devices") {
  Tree tree;
  tree.write("nnd-netlink.json", "{}");
  std::vector<VerbsDevice> devices;
  for (int i = 0; i < 40; ++i) devices.push_back(device(fmt::format("mlx5_{}", i), {ib_port()}));
  devices[0].ports[0].state = 1;
  const Node node = collect(devices, sources(tree));
  CHECK(node.find("mlx5_32")->ports[0].choice == PortChoice::kTaken);
  CHECK(node.find("mlx5_33")->ports[0].choice == PortChoice::kOverLimit);
  CHECK(collect(devices, sources(tree, {}, 21803)).find("mlx5_17")->ports[0].choice ==
        PortChoice::kOverLimit);
  devices.resize(33);
  CHECK(collect(devices, sources(tree)).find("mlx5_32")->ports[0].choice == PortChoice::kTaken);
}

TEST_CASE("a container that was given one of the node's HCAs is healthy") {
  Tree tree;
  tree.write("dev/infiniband/uverbs1", "").write("nnd-netlink.json", "{}");
  VerbsDevice other = device("mlx5_0", {});
  other.open_errno = ENOENT;
  VerbsDevice given = device("mlx5_1", {ib_port()});
  given.uverbs_name = "uverbs1";
  const Node node = collect({other, given}, sources(tree));
  CHECK(node.find("mlx5_0")->uverbs == UverbsState::kMissing);
  CHECK(node.find("mlx5_1")->uverbs == UverbsState::kUsable);
  CHECK(unopened(node).empty());
  CHECK(unopened(collect({other}, sources(tree))).size() == 1);
}

TEST_CASE("whether a device node may be used is known from opening it") {
  // A folder in its place: access() grants it, open() fails, as behind a device cgroup.
  Tree tree;
  tree.folder("dev/infiniband/uverbs0").write("dev/infiniband/uverbs1", "");
  tree.write("nnd-netlink.json", "{}");
  VerbsDevice closed = device("mlx5_0", {});
  closed.open_errno = EPERM;
  VerbsDevice odd = device("mlx5_1", {});  // its node can be opened, the driver says no
  odd.open_errno = ENOMEM;
  odd.uverbs_name = "uverbs1";
  VerbsDevice opened = device("mlx5_2", {ib_port()});
  opened.uverbs_name = "uverbs2";  // in another place than the usual one
  const Node node = collect({closed, odd, opened}, sources(tree));
  CHECK(node.find("mlx5_0")->uverbs == UverbsState::kDenied);
  CHECK(node.find("mlx5_0")->uverbs_errno == EISDIR);
  CHECK(node.find("mlx5_1")->uverbs == UverbsState::kUsable);
  CHECK(node.find("mlx5_2")->uverbs == UverbsState::kUsable);
  CHECK(unopened(node) == std::vector<std::string>{"mlx5_0", "mlx5_1"});
  CHECK(node.hcas[0].closed->node == nnd::diagnosis::CannotOpen::Node::kPermissions);
  CHECK(node.hcas[1].closed->node == nnd::diagnosis::CannotOpen::Node::kNotKnown);
  CHECK(node.hcas[1].closed->error == ENOMEM);
}

TEST_CASE("where /dev is not the sysfs's twin, what libibverbs failed with tells") {
  Tree tree;
  tree.write("nnd-netlink.json", "{}");
  Sources emulated = sources(tree);
  emulated.root.clear();
  VerbsDevice other = device("mlx5_0", {});
  other.open_errno = ENOENT;
  const VerbsDevice given = device("mlx5_1", {ib_port()});
  CHECK(unopened(collect({other, given}, emulated)).empty());
  CHECK(unopened(collect({other}, emulated)).size() == 1);
  other.open_errno = EACCES;
  CHECK(unopened(collect({other, given}, emulated)).size() == 1);
  CHECK(collect({other, given}, emulated).hcas[0].uverbs == UverbsState::kNotExamined);
}

TEST_CASE("nothing at all") {
  Tree tree;
  const Node node = collect({}, sources(tree));
  CHECK(unopened(node).empty());
  CHECK(hca_summary(node) == "HCAs taken: none");
  CHECK_FALSE(node.network.known);
  Sources nowhere = sources(tree);
  nowhere.sysfs = tree.root() + "/none";
  const Node blind = collect({device("mlx5_0", {roce_port({verbs_gid(3, "10.0.0.1")})})}, nowhere);
  CHECK_FALSE(blind.hcas[0].sysfs_present);
  CHECK(blind.hcas[0].ports[0].choice == PortChoice::kTaken);
  CHECK(blind.hcas[0].ports[0].speed_mbps == 400000);
}

TEST_CASE("the current node outlives the next one") {
  Node first;
  first.nccl_version = 1;
  set_current_node(std::move(first));
  const Node& seen = current_node();
  CHECK(seen.nccl_version == 1);
  Node second;
  second.nccl_version = 2;
  set_current_node(std::move(second));
  CHECK(current_node().nccl_version == 2);
  CHECK(seen.nccl_version == 1);
}

TEST_CASE("units of verbs") {
  CHECK(verbs_speed_mbps(128, 2) == 400000);
  CHECK(verbs_speed_mbps(64, 2) == 200000);
  CHECK(verbs_speed_mbps(32, 2) == 100000);
  CHECK(verbs_speed_mbps(32, 1) == 25000);
  CHECK(verbs_speed_mbps(64, 16) == 100000);
  CHECK(verbs_speed_mbps(256, 2) == 800000);
  CHECK(verbs_speed_mbps(0, 2) == 0);
  CHECK(verbs_mtu(1) == 256);
  CHECK(verbs_mtu(5) == 4096);
  CHECK(verbs_mtu(0) == 0);
  CHECK(verbs_mtu(6) == 0);
  CHECK(parse_rate_mbps("400 Gb/sec (4X NDR)") == 400000);
  CHECK(parse_rate_mbps("2.5 Gb/sec (1X SDR)") == 2500);
  CHECK(parse_rate_mbps("") == 0);
  CHECK(parse_rate_mbps("inf Gb/sec") == 0);
  CHECK(parse_rate_mbps("400 Tb/sec") == 0);
  CHECK(std::string(port_state_text(4)) == "ACTIVE");
  CHECK(std::string(port_state_text(9)) == "unknown");
  CHECK(std::string(phys_state_text(2)) == "Polling");
}

TEST_CASE("a bond's lower devices and what is odd about them") {
  RoceNode made;
  const auto trouble = [&made](const std::string& eth0, const std::string& eth1,
                               const std::string& state) {
    made.tree.write("class/net/eth0/speed", eth0 + "\n").write("class/net/eth1/speed", eth1 + "\n");
    made.tree.write("class/net/eth1/operstate", state + "\n");
    made.tree.write("nnd-netlink.json", R"({"links": [{"ifindex": 30, "name": "bond0",
        "kind": "bond", "addrs": ["10.100.0.2/16"]}]})");
    return collect(made.devices, sources(made.tree)).find("mlx5_bond_0")->bond_trouble();
  };
  CHECK(trouble("25000", "25000", "up").empty());
  CHECK(trouble("25000", "10000", "up") == "eth0 25 Gbit/s, eth1 10 Gbit/s");
  CHECK(trouble("25000", "-1", "down") == "eth1 is down");
}

TEST_CASE("the nearest GPUs of each HCA") {
  RoceNode made;
  const auto gpu = [&made](const std::string& above, const std::string& address) {
    const std::string at = "devices/" + above + "/" + address;
    made.tree.write(at + "/class", "0x030200\n")
        .write(at + "/vendor", "0x10de\n")
        .write(at + "/numa_node", "1\n")
        .link("bus/pci/devices/" + address, "../../../" + at);
  };
  CHECK(collect(made.devices, sources(made.tree)).find("mlx5_0")->gpu_distance ==
        PciDistance::kUnknown);
  gpu("pci0000:40", "0000:41:00.0");
  gpu("pci0000:00/0000:00:01.0", "0000:42:00.0");
  gpu("pci0000:00/0000:00:01.0", "0000:43:00.0");
  const Node node = collect(made.devices, sources(made.tree));
  CHECK(node.pci.gpus.size() == 3);
  CHECK(node.find("mlx5_0")->gpu_distance == PciDistance::kPix);
  CHECK(node.find("mlx5_0")->near_gpus == std::vector<std::string>{"0000:42:00.0", "0000:43:00.0"});
}

TEST_CASE("a GID of another network namespace is read by itself") {
  RoceNode made;
  // Index 3 is the one that NCCL would pick; its interface is not in this namespace, and its type
  // file answers with an error (here: it is a folder).
  made.devices[0].ports[0].gids[3].ifindex = 99;
  const std::string types = port_dir("mlx5_0", "0000:10:00.0") + "gid_attrs/types/";
  std::filesystem::remove(made.tree.root() + "/" + types + "3");
  made.tree.folder(types + "3");
  const Node node = collect(made.devices, sources(made.tree));
  CHECK(node.find("mlx5_0")->ports[0].gid(3)->type_error == EISDIR);
  CHECK(node.find("mlx5_0")->ports[0].pick.index == -1);
  CHECK(node.find("mlx5_1")->ports[0].pick.index == 3);
}

TEST_CASE("an interface of another network namespace is not ours by its index or its name") {
  Tree tree;
  test::add_hca(tree, "mlx5_0", "0000:10:00.0");
  tree.write(port_dir("mlx5_0", "0000:10:00.0") + "gid_attrs/ndevs/0", "eth0\n")
      .write(port_dir("mlx5_0", "0000:10:00.0") + "gid_attrs/ndevs/1", "ens7\n")
      .write("nnd-netlink.json", R"({
        "links": [{"ifindex": 5, "name": "eth0", "addrs": ["10.244.0.5/24"]}],
        "routes": [{"dst": "default", "via": "10.244.0.1", "dev": "eth0"}]})");
  const auto port = roce_port({verbs_gid(0, "192.168.1.2", GidType::kRoceV2, 5),
                               verbs_gid(1, "192.168.1.3", GidType::kRoceV2, 5),
                               verbs_gid(2, "10.244.0.5", GidType::kRoceV2, 5)});
  const Node node = collect({device("mlx5_0", {port})}, sources(tree));
  const auto& gids = node.hcas[0].ports[0].gids;
  CHECK(gids[0].netdev.empty());
  CHECK(gids[0].ifindex == 0);
  CHECK_FALSE(gids[0].address);
  CHECK(gids[1].netdev == "ens7");  // a name that is not taken here can't mislead
  CHECK(gids[2].netdev == "eth0");
  CHECK(gids[2].owner_ifindex == 5);
}

TEST_CASE("what a machine without a usable HCA was expected to have") {
  struct Row {
    const char* link_layer;  // in sysfs; empty: nothing is there
    bool gpu;
    bool expected;
  };
  const auto row = GENERATE(Row{"", true, false}, Row{"Ethernet", false, false},
                            Row{"Ethernet", true, true}, Row{"InfiniBand", false, true});
  Tree tree;
  if (*row.link_layer)
    tree.write("class/infiniband/mlx5_0/ports/1/link_layer", std::string(row.link_layer) + "\n");
  if (row.gpu)
    tree.write("bus/pci/devices/0000:11:00.0/class", "0x030200\n")
        .write("bus/pci/devices/0000:11:00.0/vendor", "0x10de\n");
  CHECK(expects_rdma(collect({}, sources(tree))) == row.expected);
}
