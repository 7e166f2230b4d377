#include "softverbs/scenario.h"

#include "support/catch.h"

using namespace softverbs;

namespace {

std::string error_of(const std::string& toml) {
  try {
    parse_scenario(toml, "x.toml");
  } catch (const ScenarioError& wrong) {
    return wrong.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("counts and patterns make many out of one table") {
  const Scenario scenario = parse_scenario(R"(
[[host]]
count = 2
name = "n{h+1}"
[[host.hca]]
count = 3
name = "mlx5_{i}"
pci = "0000:{i*16+16:02x}:00.0"
address = "10.{i}.0.{h*2+1}/24"
)",
                                           "x.toml");
  REQUIRE(scenario.hosts.size() == 2);
  CHECK(scenario.hosts[1].name == "n2");
  const Hca* hca = scenario.hosts[1].find_hca("mlx5_2");
  REQUIRE(hca);
  CHECK(hca->pci == "0000:30:00.0");
  // As mlx5 fills it: link-local v1 and v2, then the address v1 and v2.
  const auto& gids = hca->ports.at(0).gids;
  REQUIRE(gids.size() == 4);
  CHECK(is_link_local(gids[0].gid));
  CHECK(gids[2].type == GidType::kRoceV1);
  CHECK(address_text(gids[3].gid) == "10.2.0.3");
  CHECK(gids[3].type == GidType::kRoceV2);
}

TEST_CASE("ports of an HCA may differ") {
  const Scenario scenario = parse_scenario(R"(
[[host]]
[[host.hca]]
ports = 2
link_layer = "infiniband"
speed_mbps = 200000
[[host.hca.port]]
number = 2
state = "down"
)",
                                           "x.toml");
  const auto& ports = scenario.hosts[0].hcas[0].ports;
  REQUIRE(ports.size() == 2);
  CHECK(ports[0].state == 4);
  CHECK(ports[1].state == 1);
  CHECK(ports[1].phys_state == 3);
  CHECK(ports[1].speed_mbps == 200000);
  CHECK(ports[0].lid != ports[1].lid);
}

TEST_CASE("an error names file, line, key and what may be meant") {
  const std::string unknown = error_of("[[host]]\n[[host.hca]]\nlink_leyer = \"infiniband\"\n");
  CHECK(unknown.find("x.toml:3: link_leyer of [[host.hca]]") == 0);
  CHECK(unknown.find("did you mean \"link_layer\"?") != std::string::npos);

  const std::string word = error_of("[[host]]\n[[host.hca]]\nlook = \"mlx4\"\n");
  CHECK(word.find("x.toml:3: look of [[host.hca]]: \"mlx4\" is not known") == 0);
  CHECK(word.find("\"mlx5\"") != std::string::npos);

  CHECK(error_of("[[host]]\ncount = \"two\"\n").find("x.toml:2: count of [[host]]: must be") == 0);
  CHECK(error_of("[[host]\n").find("x.toml:1: ") == 0);
  CHECK(error_of("[[host]]\nname = \"n\xc3\xb6\"\n")
            .find("x.toml:2: a character that is not ASCII") == 0);
  CHECK(error_of("name = \"nothing\"\n").find("needs at least one [[host]]") != std::string::npos);
  CHECK(error_of("[[host]]\n[[host.hca]]\nname = \"x{q}\"\n").find("no such counter") !=
        std::string::npos);
  CHECK(error_of("[[host]]\n[[host.hca]]\naddress = \"10.0.0.1\"\n").find("10.0.0.1/24") !=
        std::string::npos);
  CHECK(error_of("[[host]]\n[[host.hca.port]]\n").find("x.toml:") == 0);
}

TEST_CASE("what makes no sense in one place is named, and nothing leads to other files") {
  for (const auto& [text, part] : {
           std::pair{"[[host]]\nname = \"../x\"\n", "x.toml:2: name of [[host]]: a name has"},
           std::pair{"[[host]]\nname = \"..\"\n", "x.toml:2: name of [[host]]"},
           std::pair{"[[host]]\nname = \"a\\u001b[31m\"\n", "x.toml:2: name of [[host]]"},
           std::pair{"[[host]]\n[[host.hca]]\nname = \"a/b\"\n", "x.toml:3: name of [[host.hca]]"},
           std::pair{"[[host]]\n[[host.netdev]]\nname = \"/a\"\n", "x.toml:3: name of [[host.net"},
           std::pair{"[[host]]\n[[host.hca]]\nnetdev = \"a b\"\n", "x.toml:3: netdev of"},
           std::pair{"[[host]]\n[host.sysfs]\n\"../../x\" = \"1\"\n", "leads out of the host's"},
           std::pair{"[[host]]\n[host.sysfs]\n\"/etc/x\" = false\n", "leads out of the host's"},
           std::pair{"[[host]]\n[[host.hca]]\npkeys = [\"x\"]\n", "\"x\" is no partition key"},
           std::pair{"[[host]]\n[[host.hca]]\npkeys = [\"70000\"]\n", "is no partition key"},
           std::pair{"[[host]]\n[[host.hca]]\nsubnet_prefix = \"x\"\n", "it is no address"},
       }) {
    INFO(text);
    CHECK(error_of(text).find(part) != std::string::npos);
  }
}

TEST_CASE("things that only the whole can tell") {
  CHECK(error_of("[[host]]\ncount = 2\nname = \"same\"\n").find("is there twice") !=
        std::string::npos);
  CHECK(error_of("[[host]]\ncount = 2\n[[host.hca]]\naddress = \"10.0.0.1/24\"\n")
            .find("GID 10.0.0.1 is on node0's mlx5_0 port 1 and on node1's mlx5_0 port 1") !=
        std::string::npos);
  CHECK(error_of("[[host]]\n[[host.netdev]]\nmaster = \"bond9\"\n").find("bond9") !=
        std::string::npos);
  const std::string fault = "[[fault]]\nkind = \"link-down\"\nat_ms = 5\nhca = \"mlx5_O\"\n";
  CHECK(error_of("[[host]]\n[[host.hca]]\n" + fault).find("did you mean \"mlx5_0\"?") !=
        std::string::npos);
  CHECK(error_of("[[host]]\n[[fault]]\nkind = \"fail-wr\"\nstatus = \"RETRY_EXCEEDED\"\n")
            .find("did you mean \"RETRY_EXC_ERR\"?") != std::string::npos);
  CHECK(error_of("[[host]]\n[[fault]]\nkind = \"lose-peer\"\nat_ms = 1\n").find("must be named") !=
        std::string::npos);
}

TEST_CASE("places on the PCI bus") {
  const std::string hca = "[[host]]\n[[host.hca]]\n", gpu = hca + "[[host.gpu]]\n";
  const auto told = [](const std::string& toml, const char* what) {
    const std::string error = error_of(toml);
    INFO(error);
    CHECK(error.find(what) != std::string::npos);
  };
  told(hca + "pci = \"10:00.0\"\n", "x.toml:3: pci of [[host.hca]]: \"10:00.0\" is no PCI address");
  told(hca + "parent = \"0000:0f:01.0/\"\n", "x.toml:3: parent of [[host.hca]]");
  told(gpu + "parent = \"0000:0f:01.0/switch\"\n", "x.toml:4: parent of [[host.gpu]]");
  told(gpu + "pci = \"\"\n", "a GPU has a PCI address");
  told(gpu + "pci = \"0000:10:00.0\"\n",
       "host \"node0\": the GPU at 0000:10:00.0 is where another device is");
  told(gpu + "parent = \"0000:0f:02.0\"\npci = \"0000:10:01.0\"\n",
       "the PCI bus 0000:10 is below 0000:0f:01.0 and below 0000:0f:02.0");

  const Scenario scenario = parse_scenario(R"(
[[host]]
[[host.hca]]
[[host.hca]]
name = "mlx5_1"
parent = "0000:0f:02.0/0000:40:00.0/0000:41:00.0"
numa = 1
[[host.gpu]]
count = 2
)",
                                           "x.toml");
  const auto& gpus = scenario.hosts.at(0).gpus;
  REQUIRE(gpus.size() == 2);
  CHECK(gpus[0].parent == "0000:0f:01.0");
  CHECK(gpus[1].parent == "0000:0f:02.0/0000:40:00.0/0000:41:00.0");
  CHECK(gpus[1].numa == 1);
}

TEST_CASE("the examples load") {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(NND_EXAMPLE_SCENARIOS)) {
    INFO(entry.path());
    const Scenario scenario = load_scenario(entry.path());
    CHECK_FALSE(scenario.description.empty());
    CHECK(scenario.hosts.size() >= 2);
    ++count;
  }
  CHECK(count >= 5);
}
