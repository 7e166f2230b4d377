#include "facts/events.h"

#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>

#include "record/recorder.h"
#include "support/catch.h"
#include "tree.h"

using namespace nnd::facts;
using namespace nnd::facts::test;
using nlohmann::json;

namespace {

std::vector<json> lines_of(const std::string& path, const std::string& event) {
  std::vector<json> out;
  std::ifstream log(path);
  for (std::string line; std::getline(log, line);) {
    json parsed = json::parse(line);
    if (parsed["ev"] == event) out.push_back(std::move(parsed));
  }
  return out;
}

}  // namespace

TEST_CASE("facts become events") {
  Tree tree;
  test::add_hca(tree, "mlx5_0", "0000:c1:00.0", "ens1");
  tree.write("nnd-netlink.json",
             R"({"links": [{"ifindex": 2, "name": "ens1.7", "operstate": "up", "kind": "vlan",
                 "vlan_id": 7, "parent": "ens1", "mtu": 9000, "addrs": ["10.0.1.2/24"]}],
                 "routes": [{"dst": "default", "via": "10.0.1.1", "dev": "ens1.7"}]})")
      .write("devices/pci0000:00/0000:00:01.0/0000:c2:00.0/class", "0x030200")
      .write("devices/pci0000:00/0000:00:01.0/0000:c2:00.0/vendor", "0x10de")
      .link("bus/pci/devices/0000:c2:00.0", "../../../devices/pci0000:00/0000:00:01.0/0000:c2:00.0")
      .write("dev/infiniband/uverbs0", "");
  std::vector<VerbsGid> gids;
  for (unsigned i = 0; i < 40; ++i) {
    tree.write(port_dir("mlx5_0", "0000:c1:00.0") + "gid_attrs/types/" + std::to_string(i),
               "RoCE v2");
    gids.push_back(verbs_gid(i, "10.0.1.2", GidType::kRoceV2, 2));
  }
  VerbsPort down = roce_port({});
  down.number = 2;
  down.state = 1;
  VerbsDevice closed = device("mlx5_1", {});
  closed.open_errno = EPERM;
  const Node node = collect({device("mlx5_0", {roce_port(gids), down}), closed},
                            sources(tree, {{"NCCL_DEBUG", std::string(500, 'x')}}));

  nnd::config::Settings settings;
  settings.file = tree.root() + "/log.jsonl";
  nnd::record::start(settings);
  emit_facts(node);
  nnd::record::stop();

  const auto facts = lines_of(settings.file, "node.facts");
  REQUIRE(facts.size() == 1);
  CHECK(facts[0]["hcas"] == 2);
  CHECK(facts[0]["taken"] == 1);
  CHECK(facts[0]["env"]["NCCL_DEBUG"].get<std::string>().size() == 200);
  CHECK(facts[0]["network"]["known"] == true);

  const auto gdr = lines_of(settings.file, "gdr.state");
  REQUIRE(gdr.size() == 2);
  CHECK(gdr[0]["way"] == "none");
  CHECK(gdr[0]["why"] == "no NVIDIA driver is loaded here");

  const auto ports = lines_of(settings.file, "hca.port");
  REQUIRE(ports.size() == 3);
  CHECK(ports[0]["sev"] == "info");
  CHECK(ports[0]["verdict"] == "taken");
  CHECK(ports[0]["dev"]["name"] == "mlx5_0");
  CHECK(ports[0]["dev"]["gid"] == "::ffff:10.0.1.2");
  CHECK(ports[0]["dev"]["subnet"] == "10.0.1.0/24");
  CHECK(ports[0]["dev"]["pci"] == "0000:c1:00.0");
  CHECK(ports[0]["gids"].size() == 16);
  CHECK(ports[0]["gids_total"] == 40);
  CHECK(ports[0]["gpus"] == json{{"distance", "PIX"}, {"nearest", {"0000:c2:00.0"}}});
  CHECK(ports[0]["interface"] == json{{"name", "ens1.7"},
                                      {"operstate", "up"},
                                      {"kind", "vlan"},
                                      {"vlan", 7},
                                      {"parent", "ens1"},
                                      {"mtu", 9000},
                                      {"default_route", true},
                                      {"routes", 1}});
  CHECK(ports[0]["uverbs_node"] == "usable");
  CHECK(ports[1]["verdict"] == "skipped");
  CHECK(ports[1]["dev"]["port"] == 2);
  CHECK(ports[1]["reasons"][0] == "DOWN");
  CHECK(ports[2]["reasons"][0] == "can't be opened, errno 1");
  CHECK(ports[2]["errno"] == EPERM);
  CHECK_FALSE(ports[2].contains("interface"));
}
