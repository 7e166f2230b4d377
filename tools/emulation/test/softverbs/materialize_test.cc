#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "softverbs/file_tree.h"
#include "stage.h"
#include "support/catch.h"
#include "support/temp_dir.h"

using namespace softverbs;
namespace fs = std::filesystem;

namespace {

std::string content(const fs::path& file) {
  std::ifstream in(file);
  std::string text((std::istreambuf_iterator<char>(in)), {});
  if (!text.empty() && text.back() == '\n') text.pop_back();
  return in.is_open() ? text : "missing";
}

constexpr const char* kBonded = R"(
[[host]]
[[host.netdev]]
name = "bond0"
kind = "bond"
slaves = ["eno1", "eno2"]
address = "10.1.0.11/16"
gateway = "10.1.0.1"
[[host.hca]]
name = "mlx5_bond_0"
netdev = "bond0"
speed_mbps = 25000
pci = "0000:31:00.0"
parent = "0000:30:01.0"
numa = 1
[host.sysfs]
"module/nvidia_peermem/version" = "550.54"
"class/infiniband/mlx5_bond_0/fw_ver" = false
)";

}  // namespace

TEST_CASE("the tree reads as a node's sysfs") {
  stage::Stage stage(kBonded);
  const fs::path root = stage.sysfs("node0");
  const fs::path hca = root / "class/infiniband/mlx5_bond_0";
  const fs::path port = hca / "ports/1";
  CHECK(content(port / "state") == "4: ACTIVE");
  CHECK(content(port / "rate") == "25 Gb/sec (1X EDR)");
  CHECK(content(port / "link_layer") == "Ethernet");
  CHECK(content(port / "gids/3") == "0000:0000:0000:0000:0000:ffff:0a01:000b");
  CHECK(content(port / "gids/9") == "0000:0000:0000:0000:0000:0000:0000:0000");
  CHECK(content(port / "gid_attrs/types/3") == "RoCE v2");
  CHECK(content(port / "gid_attrs/types/2") == "IB/RoCE v1");
  CHECK(content(port / "gid_attrs/ndevs/3") == "bond0");
  CHECK(fs::canonical(hca / "device") ==
        fs::canonical(root) / "devices/pci0000:30/0000:30:01.0/0000:31:00.0");
  CHECK(fs::read_symlink(hca / "device").is_relative());
  CHECK(content(hca / "device/numa_node") == "1");
  CHECK(content(hca / "device/class") == "0x020000");
  CHECK(content(root / "class/infiniband_verbs/uverbs0/ibdev") == "mlx5_bond_0");
  CHECK(content(root / "class/net/bond0/bonding/slaves") == "eno1 eno2");
  CHECK(content(root / "class/net/eno1/master/ifindex") == "2");
  CHECK(fs::exists(hca / "device/net/eno1"));
  CHECK(content(root / "module/nvidia_peermem/version") == "550.54");
  CHECK(content(hca / "fw_ver") == "missing");
}

TEST_CASE("an HCA and a GPU on a PCI switch") {
  stage::Stage stage(R"(
[[host]]
[[host.hca]]
parent = "0000:0f:01.0/0000:40:00.0/0000:41:00.0"
pcie_width = 8
[[host.gpu]]
parent = "0000:0f:01.0/0000:40:00.0/0000:41:01.0"
)");
  const fs::path root = fs::canonical(stage.sysfs("node0"));
  const fs::path upstream = root / "devices/pci0000:0f/0000:0f:01.0/0000:40:00.0";
  const fs::path port = upstream / "0000:41:00.0";
  CHECK(fs::canonical(root / "class/infiniband/mlx5_0/device") == port / "0000:10:00.0");
  CHECK(fs::canonical(root / "bus/pci/devices/0000:11:00.0") ==
        upstream / "0000:41:01.0/0000:11:00.0");
  // As NCCL looks for it.
  CHECK(fs::canonical(root / "class/pci_bus/0000:40" / "../.." / "0000:40:00.0") == upstream);
  CHECK(fs::canonical(root / "class/pci_bus/0000:41" / "../.." / "0000:41:01.0") ==
        upstream / "0000:41:01.0");
  CHECK(content(upstream / "class") == "0x060400");
  CHECK(content(port / "0000:10:00.0/current_link_width") == "8");
  CHECK(content(port / "current_link_width") == "8");
  CHECK(content(upstream / "current_link_width") == "16");
}

TEST_CASE("nnd-netlink.json tells links, addresses and routes") {
  stage::Stage stage(kBonded);
  const std::string json = content(stage.sysfs("node0") / "nnd-netlink.json");
  for (const char* part : {R"("name": "bond0")", R"("kind": "bond")", R"("10.1.0.11/16")",
                           R"("master": "bond0")", R"("via": "10.1.0.1")"}) {
    INFO(part);
    CHECK(json.find(part) != std::string::npos);
  }
}

TEST_CASE("nothing is written or removed outside of the tree") {
  const nnd::test::TempDir dir;
  const auto outside = dir.file("outside", "untouched");
  const FileTree tree(dir.path() / "tree");
  tree.file("a/b", "1");
  for (const auto& path : std::vector<std::string>{"../outside", "a/../../outside", outside}) {
    INFO(path);
    CHECK_THROWS_AS(tree.file(path, "x"), ScenarioError);
    CHECK_THROWS_AS(tree.remove(path), ScenarioError);
    CHECK_THROWS_AS(tree.directory(path), ScenarioError);
    CHECK_THROWS_AS(tree.link(path, "a"), ScenarioError);
    CHECK_THROWS_AS(tree.link("c", path), ScenarioError);
  }
  std::ifstream in(outside);
  CHECK(std::string(std::istreambuf_iterator<char>(in), {}) == "untouched");
}

TEST_CASE("an unknown host is an error") {
  const stage::TemporaryDirectory dir;
  const auto scenario = softverbs::parse_scenario("[[host]]\n", "x.toml");
  CHECK_THROWS_AS(softverbs::materialize(scenario, "nobody", dir.path() / "s", dir.path() / "f"),
                  softverbs::ScenarioError);
}
