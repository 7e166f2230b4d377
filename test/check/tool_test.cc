#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "run_tool.h"
#include "support/catch.h"
#include "support/own_mounts.h"
#include "support/skip.h"

using namespace nnd::check_test;
using nlohmann::json;

namespace {

const std::string kScenarios = NND_SCENARIOS;
const std::string kBond = kScenarios + "/two-nodes-8-hca-bond.toml";
const std::string kRails = "mlx5_0,mlx5_1,mlx5_2,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_7";

// The JSON of a call, whose exit code is the one that it says itself.
json look(std::vector<std::string> arguments, const Environment& environment = {}) {
  arguments.emplace_back("--json");
  const Outcome outcome = run_tool(arguments, environment);
  INFO(outcome.err);
  json result = outcome.json();
  CHECK(outcome.exit_code == result["exit_code"]);
  CHECK(result["command"] == "check");
  return result;
}

int exit_code(const json& result) { return result["exit_code"]; }

json hca(const json& result, const std::string& name) {
  for (const json& one : result["hcas"])
    if (one["name"] == name) return one;
  return {};
}

std::size_t with_verdict(const json& result, const std::string& verdict) {
  return static_cast<std::size_t>(
      std::count_if(result["hcas"].begin(), result["hcas"].end(),
                    [&](const json& one) { return one["verdict"] == verdict; }));
}

bool proposes(const json& result, const std::string& line) {
  const json& lines = result["proposal"];
  return std::find(lines.begin(), lines.end(), line) != lines.end();
}

// Two rails on one host; what is added goes to its end.
std::string two_rails(const std::string& more = "") {
  return "description = \"two rails\"\n[[host]]\nname = \"alpha\"\n"
         "[[host.hca]]\ncount = 2\naddress = \"10.{i}.0.1/24\"\nspeed_mbps = 200000\n" +
         more;
}

}  // namespace

TEST_CASE("what the ports carry, as those who built the node say") {
  const std::string fleets = std::string(NND_EXAMPLES) + "/fleets/";
  const std::map<std::string, double> published{
      {"dgx-a100", 1600},         {"dgx-h100", 3200},        {"azure-nd-a100-v4", 1600},
      {"azure-nd-h100-v5", 3200}, {"gcp-a3-ultra", 3200},    {"ibm-h100-cluster-network", 3200},
      {"leonardo-booster", 400},  {"oci-bm-gpu-h100", 3200}, {"oci-bm-gpu4", 1600}};
  for (const auto& [fleet, gbit] : published) {
    INFO(fleet);
    const json carried =
        look({"--scenario", fleets + fleet + ".toml", "--mode", "enforce"}).at("carried");
    CHECK(carried.at("gbit_per_sec") == gbit);
    CHECK(carried.at("gb_per_sec") == gbit / 8);
    CHECK(carried.at("slots").empty());
  }
  // A slot that trained low carries less than its port.
  const json low =
      look({"--scenario", fleets + "rail-narrow-slot.toml", "--mode", "enforce"}).at("carried");
  REQUIRE(low.at("slots").size() == 1);
  const json slot = low.at("slots")[0];
  const double part = slot.at("gts").get<double>() * slot.at("width").get<double>() * 128 / 130;
  CHECK(slot.at("slot_gbit_per_sec").get<double>() == Approx(part));
  CHECK(slot.at("slot_gbit_per_sec") < slot.at("ports_gbit_per_sec"));
  const json halved = look({"--scenario", fleets + "h20-two-gpus-a-rail.toml"}).at("carried");
  REQUIRE(halved.at("shared").size() == 4);
  CHECK(halved.at("shared")[0].at("ports") == json::array({"mlx5_1:1"}));
  CHECK(halved.at("shared")[0].at("gpus") == json::array({"GPU 1000:04:00.0", "GPU 1000:05:00.0"}));
  CHECK(low.at("shared").empty());
}

TEST_CASE("a front-end bond beside eight rails, in each mode") {
  const json warned = look({"--scenario", kBond});
  CHECK(exit_code(warned) == 0);
  CHECK(warned["host"] == "node0");
  CHECK(warned["policy"]["mode"] == "warn");
  REQUIRE(warned["hcas"].size() == 9);
  CHECK(with_verdict(warned, "taken") == 9);
  CHECK(hca(warned, "mlx5_bond_0")["rules"] == json::array({"hca.bond"}));
  CHECK(hca(warned, "mlx5_0")["rules"].empty());
  REQUIRE(warned["verdicts"].size() == 1);
  CHECK(warned["verdicts"][0]["cause"] == "DEV-BOND");
  CHECK(warned["verdicts"][0]["decision"] == "warn");
  CHECK(warned["result"]["usable_hcas"] == 8);
  CHECK(proposes(warned, "export NCCL_IB_HCA==" + kRails));

  const json refused = look({"--scenario", kBond, "--mode", "enforce", "--host", "node1"});
  CHECK(exit_code(refused) == 0);  // the rules did their work, and eight rails are there
  CHECK(refused["host"] == "node1");
  CHECK(hca(refused, "mlx5_bond_0")["verdict"] == "refused");
  CHECK(with_verdict(refused, "taken") == 8);
  CHECK(refused["verdicts"][0]["decision"] == "refuse");
  CHECK(refused["verdicts"][0]["remedy"] == "NCCL_IB_HCA==" + kRails);

  const json observed = look({"--scenario", kBond, "--mode", "observe", "--fail-on", "warn"});
  CHECK(exit_code(observed) == 0);
  CHECK(observed["verdicts"][0]["decision"] == "info");
}

TEST_CASE("what gives exit code 1") {
  CHECK(exit_code(look({"--scenario", kBond, "--fail-on", "warn"})) == 1);
  CHECK(exit_code(look({"--scenario", kBond, "--fail-on", "refuse"})) == 0);
  CHECK(exit_code(look({"--scenario", kBond, "--expect-hcas", "8"})) == 0);
  const json few = look({"--scenario", kBond, "--expect-hcas", "9"});
  CHECK(exit_code(few) == 1);
  CHECK(few["result"]["broken"] == json::array({"8 of 9 expected HCAs are usable."}));
  // The mode that a job would have.
  const auto refusing = [](std::vector<std::string> more) {
    more.insert(more.end(), {"--scenario", kBond, "--fail-on", "refuse"});
    return exit_code(look(more, {{"NCCL_NET_DIAG_MODE", "enforce"}}));
  };
  CHECK(refusing({}) == 1);
  CHECK(refusing({"--mode", "warn"}) == 0);
  // The user's own list leaves the bond out: nothing is wrong in enforce mode either.
  CHECK(exit_code(look({"--scenario", kBond, "--mode", "enforce", "--fail-on", "warn"},
                       {{"NCCL_IB_HCA", "^=mlx5_bond_0"}})) == 0);
  // One that leaves nothing to use breaks the job in any mode.
  const json none = look({"--scenario", kBond}, {{"NCCL_IB_HCA", "=mlx4_0"}});
  CHECK(exit_code(none) == 1);
  CHECK(with_verdict(none, "skipped") == 9);
  CHECK(exit_code(look({"--scenario", kBond}, {{"NCCL_IB_DISABLE", "1"}})) == 0);
}

TEST_CASE("healthy fleets have no warning") {
  for (const char* name : {"all-bond", "ib-8-hca", "rails-routed", "single-hca"}) {
    INFO(name);
    const json result =
        look({"--scenario", kScenarios + "/" + name + ".toml", "--fail-on", "warn"});
    CHECK(exit_code(result) == 0);
    CHECK(result["result"]["warnings"] == 0);
    CHECK(with_verdict(result, "taken") == result["hcas"].size());
  }
}

TEST_CASE("a policy file counts, and a wrong one is a wrong call") {
  const Scratch scratch;
  const std::string scenario = scratch.file("two.toml", two_rails());
  const std::string fleet =
      scratch.file("fleet.toml", "mode = \"enforce\"\n[hca]\nmin_count = 3\n");
  const json small = look({"--scenario", scenario, "--policy", fleet});
  CHECK(exit_code(small) == 1);
  CHECK(small["policy"]["source"] == fleet);
  CHECK(small["policy"]["mode"] == "enforce");
  CHECK(small["result"]["broken"] ==
        json::array({"2 usable HCA ports remain, the policy asks for 3."}));
  // Overrides are by host.
  const std::string odd = scratch.file("odd.toml",
                                       "mode = \"enforce\"\n[hca]\ndeny = [\"mlx5_1\"]\n"
                                       "[[override]]\nhost = \"alpha\"\nhca.deny = []\n");
  CHECK(exit_code(look({"--scenario", scenario}, {{"NCCL_NET_DIAG_POLICY", odd}})) == 0);

  const std::string wrong = scratch.file("wrong.toml", "[hca]\nbnod = \"deny\"\n");
  const Outcome outcome = run_tool({"--scenario", scenario, "--policy", wrong});
  CHECK(outcome.exit_code == 2);
  CHECK(outcome.out.empty());
  CHECK(outcome.err.find("wrong.toml:2") != std::string::npos);
  CHECK(outcome.err.find("hca.bond") != std::string::npos);
  const json told = look({"--scenario", scenario, "--policy", wrong});
  CHECK(told["error"]["kind"] == "policy");
  CHECK(told["error"]["message"].get<std::string>().find("wrong.toml:2") != std::string::npos);
}

TEST_CASE("a wrong call is told from what can't be examined") {
  const Scratch scratch;
  const std::string scenario = scratch.file("two.toml", two_rails());
  const std::vector<std::vector<std::string>> wrong = {
      {"--mode", "strict"},
      {"--fail-on", "anything"},
      {"--nccl", "2.28"},
      {"--host", "alpha"},  // of which scenario?
      {"--expect-hcas", "many"},
      {"--expect-hcas", "-1"},
      {"--color", "sometimes"},
      {"--json", "--brief"},
      {"--scenario", scratch.path().string() + "/none.toml"},
      {"--scenario", scenario, "--host", "beta"},
      {"--policy", scratch.path().string() + "/none.toml"},
      {"--everything"}};
  for (const auto& arguments : wrong) {
    INFO(arguments.front());
    CHECK(run_tool(arguments).exit_code == 2);
  }
  const Outcome no_library = run_tool({}, {{"NCCL_NET_DIAG_VERBS_LIB", "/nowhere/libibverbs.so"}});
  CHECK(no_library.exit_code == 3);
  CHECK(no_library.err.find("/nowhere/libibverbs.so") != std::string::npos);
  const Outcome no_sysfs = run_tool({}, {{"NCCL_NET_DIAG_SYSFS", scratch.path() / "none"}});
  CHECK(no_sysfs.exit_code == 3);
  const std::string refusing = scratch.file(
      "refusing.toml",
      two_rails(
          "[[fault]]\nkind = \"fail-call\"\nverb = \"ibv_get_device_list\"\nerrno = \"ENOMEM\"\n"));
  CHECK(exit_code(look({"--scenario", refusing})) == 3);
}

TEST_CASE("what NCCL skips is said with its reason") {
  const Scratch scratch;
  const std::string scenario = scratch.file(
      "down.toml", two_rails("[[host.hca]]\nname = \"mlx5_9\"\naddress = \"10.9.0.1/24\"\n"
                             "state = \"down\"\n"));
  const json result = look({"--scenario", scenario});
  CHECK(hca(result, "mlx5_9")["verdict"] == "skipped");
  CHECK(hca(result, "mlx5_9")["reasons"][0].get<std::string>().starts_with("DOWN"));
  CHECK_FALSE(proposes(result, "export NCCL_IB_HCA==mlx5_0,mlx5_1,mlx5_9"));
  CHECK(proposes(result, "export NCCL_IB_HCA==mlx5_0,mlx5_1"));
}

TEST_CASE("what an enforced job would be refused for is no fine node") {
  const Scratch scratch;
  const std::string scenario = scratch.file("rails.toml", two_rails());
  const std::string policy =
      scratch.file("policy.toml", "mode = \"enforce\"\n[roce]\ntraffic_class = 106\n");
  const json refused = look({"--scenario", scenario, "--policy", policy});
  CHECK(exit_code(refused) == 1);
  REQUIRE(refused["verdicts"].size() == 1);
  CHECK(refused["verdicts"][0]["cause"] == "ROCE-TC");
  CHECK(refused["verdicts"][0]["remedy"] == "Set NCCL_IB_TC=106 on every node.");
  CHECK(exit_code(look({"--scenario", scenario, "--policy", policy}, {{"NCCL_IB_TC", "106"}})) ==
        0);
}

TEST_CASE("a remedy for the environment is right for the release and for what was set") {
  const Scratch scratch;
  const std::string scenario = scratch.file("rails.toml", two_rails());
  const auto fix = [&](const std::string& nccl, const Environment& environment) {
    const json result = look({"--scenario", scenario, "--nccl", nccl}, environment);
    return result["verdicts"].empty() ? std::string()
                                      : result["verdicts"][0]["remedy"].get<std::string>();
  };
  CHECK(fix("2.30.7", {{"NCCL_IB_GID_INDEX", "300"}}) == "Unset NCCL_IB_GID_INDEX.");
  CHECK(fix("2.30.7", {{"NCCL_IB_ADDR_FAMILY", "AF_INET6"}})
            .starts_with("Unset NCCL_IB_ADDR_FAMILY: the RoCE v2 GID ::ffff:10.0.0.1 is at index"));
  CHECK(fix("2.20.5", {}).starts_with("NCCL_IB_GID_INDEX=3 on every node"));
  CHECK(fix("2.20.5", {{"NCCL_IB_GID_INDEX", "3"}}).empty());
}

TEST_CASE("the rules are those of the NCCL that is named") {
  const json old = look({"--scenario", kBond, "--nccl", "2.20.5"});
  CHECK(old["nccl"] == "2.20.5");
  CHECK(hca(old, "mlx5_0")["pick"]["index"] == 0);
  CHECK(hca(old, "mlx5_0")["pick"]["basis"] == "fixed_default");
  const json now = look({"--scenario", kBond});
  CHECK(now["nccl"].is_null());
  CHECK(hca(now, "mlx5_0")["pick"]["index"] == 3);
  CHECK(hca(now, "mlx5_0")["pick"]["gid"] == "::ffff:10.200.0.1");
  CHECK(hca(now, "mlx5_0")["pick"]["why"] == "RoCE v2 IPv4 GID");
  const json forgets = look({"--scenario", kBond, "--nccl", "2.28.9"});
  REQUIRE(forgets["lint"].size() == 1);
  CHECK(forgets["lint"][0]["variable"] == "NCCL_NET_PLUGIN_REF_COUNT");
  CHECK(proposes(forgets, "export NCCL_NET_PLUGIN_REF_COUNT=1"));
  CHECK(look({"--scenario", kBond, "--nccl", "2.30.7"})["lint"].empty());
}

TEST_CASE("what is wrong with NCCL_IB_HCA is said with a list that is right") {
  const std::string sixteen = kScenarios + "/sixteen-hca-256-gids.toml";
  struct Case {
    std::string scenario, value, fix;
  };
  for (const Case& one :
       {Case{kBond, "mlx5_0,^mlx5_bond_0",
             "Write NCCL_IB_HCA==mlx5_0, or NCCL_IB_HCA=^=mlx5_bond_0 for all but that."},
        Case{kBond, "^^mlx5_bond_0", "Write NCCL_IB_HCA=^=mlx5_bond_0."},
        Case{kBond, "mlx5,^mlx5_bond_0", "Write NCCL_IB_HCA=^=mlx5_bond_0."},
        Case{sixteen, "mlx5_1", "Write NCCL_IB_HCA==mlx5_1 to match whole names."}}) {
    INFO(one.value);
    const json result = look({"--scenario", one.scenario}, {{"NCCL_IB_HCA", one.value}});
    REQUIRE(result["lint"].size() == 1);
    CHECK(result["lint"][0]["cause"] == "DEV-PREFIX");
    CHECK(result["lint"][0]["fix"] == one.fix);
    for (const auto& line : result["proposal"])
      CHECK(line.get<std::string>().find("NCCL_IB_HCA") == std::string::npos);
    // The remedy is right: with it, nothing is said of the list.
    const auto begin = one.fix.find("NCCL_IB_HCA=") + 12;
    auto fixed = one.fix.substr(begin, one.fix.find_first_of(" ", begin) - begin);
    while (fixed.ends_with(',') || fixed.ends_with('.')) fixed.pop_back();
    INFO(fixed);
    CHECK(look({"--scenario", one.scenario}, {{"NCCL_IB_HCA", fixed}})["lint"].empty());
  }
  const json none = look({"--scenario", kBond}, {{"NCCL_IB_HCA", "ib0"}});
  REQUIRE(none["verdicts"].size() == 1);
  CHECK(none["verdicts"][0]["cause"] == "DEV-FALLBACK");
  CHECK(none["verdicts"][0]["remedy"] ==
        "NCCL_IB_HCA=ib0 keeps all of them out: correct or unset it.");
}

TEST_CASE("misspelt variables of NCCL's are named with what was meant") {
  const auto meant = [](const char* name) -> std::string {
    const json lint = look({"--scenario", kBond}, {{name, "1"}})["lint"];
    if (lint.empty()) return "";
    CHECK(lint[0]["cause"] == "ENV-TYPO");
    return lint[0]["fix"];
  };
  CHECK(meant("NCCL_IB_GID_INDX") == "Did you mean NCCL_IB_GID_INDEX?");
  CHECK(meant("NCLL_DEBUG") == "Did you mean NCCL_DEBUG?");
  CHECK(meant("NCCL_SOCKET_IFNAMES") == "Did you mean NCCL_SOCKET_IFNAME?");
  // Other tools have names of their own.
  for (const char* name : {"NCCL_TESTS_DEVICE", "NCCL_BLOCKING_WAIT", "NCCL_ASYNC_ERROR_HANDLING",
                           "NCCL_LIBRARY", "NCCL_VERSION", "NCCL_ROOT", "NCCL_INCLUDE_DIR",
                           "NCCL_HOME", "TORCH_NCCL_ASYNC_ERROR_HANDLING", "NCCL_DESYNC_DEBUG",
                           "HCCL_SOCKET_IFNAME", "RCCL_DEBUG", "GCCL_ALGO", "CNCL_DEBUG"}) {
    INFO(name);
    CHECK(meant(name).empty());
  }
}

TEST_CASE("values of NCCL's own files count as in a job") {
  const Scratch home;
  home.file(".nccl.conf", "NCCL_IB_HCA=^=mlx5_bond_0\nNCCL_NET_DIAG_MODE=enforce\n");
  const json result = look({"--scenario", kBond}, {{"HOME", home.path()}});
  CHECK(result["policy"]["mode"] == "enforce");
  CHECK(hca(result, "mlx5_bond_0")["verdict"] == "skipped");
  CHECK(exit_code(result) == 0);
  const json overridden =
      look({"--scenario", kBond}, {{"HOME", home.path()}, {"NCCL_IB_HCA", "mlx5_"}});
  CHECK(hca(overridden, "mlx5_bond_0")["verdict"] == "refused");
  REQUIRE(overridden["lint"].size() == 1);
  CHECK(overridden["lint"][0]["cause"] == "ENV-OVERRIDE");
}

TEST_CASE("this machine's policy has no say in an emulated node") {
  nnd::test::in_own_mounts([] {
    if (!nnd::test::mount_tmpfs("/etc", "1m")) throw std::runtime_error("no tmpfs on /etc");
    for (const char* text : {"locked = true\nmode = \"enforce\"\n", "not = \"known\"\n"}) {
      std::filesystem::create_directories("/etc/nccl-net-diag");
      std::ofstream("/etc/nccl-net-diag/policy.toml") << text;
      const auto outcome = run_tool({"--scenario", kBond, "--json"});
      const auto result = outcome.json();
      if (!result.contains("policy") || result["policy"]["mode"] != "warn" ||
          with_verdict(result, "taken") != 9)
        throw std::runtime_error("judged as this machine: " + outcome.out);
    }
  });
}

TEST_CASE("root does not do what another user's file says") {
  const Scratch home;
  const std::string file =
      home.file(".nccl.conf", "NCCL_NET_DIAG_VERBS_LIB=/nowhere/evil.so\nNCCL_IB_HCA=ib7\n");
  if (geteuid() != 0 || chown(file.c_str(), 65534, 65534) != 0)
    NND_SKIP("only root can give a file away");
  const json result = look({"--scenario", kBond}, {{"HOME", home.path()}});
  CHECK(with_verdict(result, "taken") == 9);
}

TEST_CASE("GPUs near each HCA, and the interface that ranks meet by") {
  const json result = look({"--scenario", kBond});
  CHECK(hca(result, "mlx5_0")["gpus"]["distance"] == "PIX");
  CHECK(hca(result, "mlx5_0")["gpus"]["nearest"].size() == 1);
  CHECK(result["system"]["gpus"] == 8);
  CHECK(result["system"]["gpu_list"][0]["index"].is_null());  // not this machine's
  CHECK(result["system"]["oob"]["address"] == "10.1.0.11");
}

TEST_CASE("settings with which a job does something else are said") {
  const json off =
      look({"--scenario", kBond, "--mode", "enforce"}, {{"NCCL_NET_DIAG_DISABLE", "1"}});
  CHECK(exit_code(off) == 0);
  CHECK(off["result"]["warnings"] == 1);
  CHECK(off["verdict"] ==
        "node0: NCCL will use 9 HCA ports; in enforce mode 1 would be refused. "
        "NCCL_NET_DIAG_DISABLE=1: a job logs nothing, and nothing is refused. 1 warning.");
  const Scratch scratch;
  const Environment over_tcp{{"NCCL_NET_DIAG_INNER", "Socket"}};
  const json tcp = look({"--scenario", kBond, "--mode", "enforce"}, over_tcp);
  CHECK(exit_code(tcp) == 0);
  CHECK(tcp["verdict"].get<std::string>().find("a job goes over TCP") != std::string::npos);
  const std::string policy = scratch.file("deny.toml", "[fallback]\nsocket = \"deny\"\n");
  const json denied =
      look({"--scenario", kBond, "--mode", "enforce", "--policy", policy}, over_tcp);
  CHECK(exit_code(denied) == 1);
  REQUIRE(denied["result"]["broken"].size() == 1);
  CHECK(denied["result"]["broken"][0].get<std::string>().find("the policy denies TCP") !=
        std::string::npos);
  CHECK(exit_code(look({"--scenario", kBond, "--policy", policy}, over_tcp)) == 0);
}

TEST_CASE("misspelt settings of the shim are warnings") {
  const json result = look({"--scenario", kBond}, {{"NCCL_NET_DIAG_MOD", "enforce"}});
  REQUIRE(result["lint"].size() == 1);
  CHECK(result["lint"][0]["fix"] == "Did you mean NCCL_NET_DIAG_MODE?");
  // A secret stays one.
  const Outcome secret =
      run_tool({"--scenario", kBond, "--json"}, {{"NCCL_NET_DIAG_TOKN", "a word of mine"}});
  CHECK(secret.out.find("NCCL_NET_DIAG_TOKN") != std::string::npos);
  CHECK(secret.out.find("a word of mine") == std::string::npos);
}

TEST_CASE("the page for people says the same, and has no colour in a pipe") {
  const Outcome page = run_tool({"--scenario", kBond, "--mode", "enforce"}, {{"TERM", "xterm"}});
  CHECK(page.exit_code == 0);
  CHECK(page.out.find('\x1b') == std::string::npos);
  CHECK(page.out.starts_with("works, with warnings: node0: NCCL will use 8 HCA ports, 1 refused."));
  CHECK(page.out.find("mlx5_bond_0     1  bond0     Ethernet      25") != std::string::npos);
  CHECK(page.out.find("refused  hca.bond") != std::string::npos);
  CHECK(page.out.find("  export NCCL_IB_HCA==" + kRails + "\n") != std::string::npos);
}

TEST_CASE("no variable's value forges a line of the page, or steers the terminal") {
  const std::string forged = "mlx5_9\nfine: all is well\x1b[2J\xc2\x9b";
  for (const char* name : {"NCCL_IB_HCA", "NCCL_SOCKET_IFNAME", "NCCL_DEBUGG", "NCCL_IB_TC"})
    for (const char* how : {"--verbose", "--brief"}) {
      INFO(name << " " << how);
      const Outcome page = run_tool({"--scenario", kBond, how}, {{name, forged}});
      INFO(page.out);
      CHECK(page.out.find("\nfine: all") == std::string::npos);
      CHECK(page.out.find('\x1b') == std::string::npos);
      CHECK(page.out.find("\xc2\x9b") == std::string::npos);
      CHECK(page.err.empty());
    }
}

TEST_CASE("a node without RDMA is examined and said to be one") {
  const Scratch scratch;
  const std::string scenario = scratch.file("none.toml", "[[host]]\nname = \"alpha\"\n");
  const json result = look({"--scenario", scenario});
  CHECK(exit_code(result) == 0);
  CHECK(result["verdict"] == "alpha: There is no RDMA here: NCCL will use TCP.");
  CHECK(exit_code(look({"--scenario", scenario, "--expect-hcas", "1"})) == 1);
  const std::string no_tcp =
      scratch.file("no-tcp.toml", "mode = \"enforce\"\n[fallback]\nsocket = \"deny\"\n");
  CHECK(exit_code(look({"--scenario", scenario, "--policy", no_tcp})) == 1);
}

TEST_CASE("16 HCAs with 256 GIDs each are examined in less than a second") {
  const json result = look({"--scenario", kScenarios + "/sixteen-hca-256-gids.toml"});
  CHECK(result["hcas"].size() == 16);
  CHECK(result["hcas"][15]["gid_table"] == 256);
  CHECK(result["hcas"][15]["gids"].get<int>() > 250);
  CHECK(result["hcas"][15]["gid_types_unreadable"] == 0);
  CHECK(result["took_ms"].get<double>() < 1000);
}

TEST_CASE("the Kubernetes init container's command and its policy") {
  std::ifstream file(std::string(NND_EXAMPLES) + "/kubernetes-init/pod.yaml");
  std::vector<std::string> command;
  std::string policy;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    const auto at = line.find("command: [");
    if (at != std::string::npos) command = json::parse(line.substr(at + 9));
    if (inside) policy += line + '\n';
    inside = inside || line.find("policy.toml: |") != std::string::npos;
  }
  REQUIRE(command.size() > 2);
  CHECK(command[0] == "nccl-net-diag");
  CHECK(command[1] == "check");
  const Scratch scratch;
  const std::string mounted = scratch.file("policy.toml", policy);
  const auto run = [&](const std::string& scenario) {
    std::vector<std::string> arguments(command.begin() + 2, command.end());
    std::replace(arguments.begin(), arguments.end(), std::string("/policy/policy.toml"), mounted);
    arguments.insert(arguments.end(), {"--scenario", kScenarios + "/" + scenario + ".toml"});
    return run_tool(arguments).exit_code;
  };
  CHECK(run("ib-8-hca") == 0);
  CHECK(run("single-hca") == 1);
}

TEST_CASE("the examples turn the verdict into what a scheduler reads") {
  const Scratch scratch;
  // Their tool looks at an emulated host.
  const std::string bond =
      scratch.file("bond.sh", "#!/bin/sh\nexec " NND_TOOL " \"$@\" --scenario '" + kBond + "'\n");
  const std::string healthy =
      scratch.file("healthy.sh", "#!/bin/sh\nexec " NND_TOOL " \"$@\" --scenario '" + kScenarios +
                                     "/rails-routed.toml'\n");
  const std::string login =
      scratch.file("login.sh", "#!/bin/sh\nexec " NND_TOOL " \"$@\" --scenario '" NND_EXAMPLES
                               "/fleets/login-node.toml'\n");
  for (const std::string& tool : {bond, healthy, login})
    std::filesystem::permissions(tool, std::filesystem::perms::owner_all);
  const std::string examples = NND_EXAMPLES;
  const auto run = [&](const char* script, const std::string& tool, Environment more) {
    more["NND_TOOL"] = tool;
    more["NND_CHECK_LOG"] = scratch.path() / "check.json";
    return run_script(examples + script, more);
  };
  const char* prolog = "/slurm-prolog/prolog.sh";
  CHECK(run(prolog, bond, {}).exit_code == 0);
  CHECK(run(prolog, bond, {{"NND_EXPECT_HCAS", "9"}}).exit_code == 1);
  // Nor a node that has no HCAs and needs none, unless it is told to have some.
  CHECK(run(prolog, login, {}).exit_code == 0);
  CHECK(run(prolog, login, {{"NND_EXPECT_HCAS", "8"}}).exit_code == 1);
  // A wrong policy file must not drain every node.
  CHECK(run(prolog, bond, {{"NCCL_NET_DIAG_POLICY", "/nowhere.toml"}}).exit_code == 0);
  // What is wrong with the prolog itself is no fault of the node's.
  CHECK(run(prolog, "/nowhere", {}).exit_code == 0);
  CHECK(run(prolog, bond, {{"NND_CHECK_LOG", "/proc/no/such/file"}}).exit_code == 0);
  CHECK(run(prolog, bond, {{"NND_CHECK_LOG", "/proc/no/such/file"}, {"NND_EXPECT_HCAS", "9"}})
            .exit_code == 1);
  // The sample policy for such nodes keeps the bond out, and that is no reason to drain them.
  const std::string rails = examples + "/policy/rails.toml";
  CHECK(run(prolog, bond, {{"NCCL_NET_DIAG_POLICY", rails}}).exit_code == 0);

  const Outcome task = run("/slurm-prolog/task-prolog.sh", bond, {});
  CHECK(task.exit_code == 0);
  CHECK(task.out.starts_with("print not fine: node0: "));
  CHECK(task.out.find("print   warn    mlx5_bond_0 is over the bond bond0") != std::string::npos);
  CHECK(task.out.find("\nexport NCCL_IB_HCA==" + kRails + "\n") != std::string::npos);
  const Outcome own = run("/slurm-prolog/task-prolog.sh", bond,
                          {{"NCCL_IB_HCA", "=mlx5_0"}, {"SLURM_LOCALID", "1"}});
  CHECK(own.out.empty());

  const char* health = "/node-health/check-hcas.sh";
  CHECK(run(health, healthy, {}).exit_code == 0);
  // node-problem-detector takes 1 as a fault and everything above as unknown; a warning is neither.
  const Outcome warned = run(health, bond, {});
  CHECK(warned.exit_code == 0);
  CHECK(warned.out.find("mlx5_bond_0 is over the bond bond0") != std::string::npos);
  CHECK(run(health, bond, {{"NND_EXPECT_HCAS", "9"}}).exit_code == 1);
  CHECK(run(health, bond, {{"NCCL_NET_DIAG_POLICY", "/nowhere.toml"}}).exit_code == 2);
  const Outcome missing = run(health, "/nowhere", {});
  CHECK(missing.exit_code == 2);
  CHECK(missing.out.find("/nowhere gave no answer") != std::string::npos);
}

TEST_CASE("check: what NCCL's own transport makes of the node, release by release") {
  const Scratch scratch;
  const std::string file = scratch.file("dual.toml",
                                        "[[host]]\nname = \"node0\"\n"
                                        "[[host.hca]]\ncount = 2\nports = 2\n"
                                        "[host.sysfs]\n\"class/infiniband/mlx5_0/ports/1/"
                                        "gid_attrs/types\" = false\n");
  const auto transport = [&](const char* nccl) {
    return run_tool({"--json", "--nccl", nccl, "--scenario", file}, {{"NCCL_IB_TC", "106"}}).json();
  };
  const json merged = transport("2.21.5")["transport"];
  CHECK(merged["init"] == "works");
  REQUIRE(merged["devices"].size() == 2);
  CHECK(merged["devices"][0]["name"] == "mlx5_0+mlx5_0");
  CHECK(merged["devices"][0]["speed_mbps"] == 800000);
  CHECK(merged["devices"][0]["members"][1]["port"] == 2);
  CHECK(merged["qp"]["timeout"] == 18);
  CHECK(merged["qp"]["traffic_class"] == 106);
  const json apart = transport("2.28.9")["transport"];
  REQUIRE(apart["devices"].size() == 4);
  CHECK(apart["devices"][1]["port"] == 3);  // verbs' 2, and one of the same card before it
  CHECK(apart["qp"]["timeout"] == 20);
}

TEST_CASE("check: a transport whose init fails or crashes is broken") {
  const Scratch scratch;
  const auto verdict = [&](const std::string& hcas, const char* nccl, int exit_code) {
    const std::string file = scratch.file("scenario.toml", "[[host]]\nname = \"node0\"\n" + hcas);
    const Outcome out = run_tool({"--json", "--nccl", nccl, "--scenario", file});
    CHECK(out.exit_code == exit_code);
    return out.json()["verdict"].get<std::string>();
  };
  // 2.31 and newer pick each GID in init; before, only a connection failed with it.
  const std::string no_types =
      "[[host.hca]]\naddress = \"10.1.0.1/24\"\n[host.sysfs]\n"
      "\"class/infiniband/mlx5_0/ports/1/gid_attrs/types\" = false\n";
  CHECK(verdict(no_types, "2.31.2", 1).find("NCCL's IB transport fails in its init") !=
        std::string::npos);
  CHECK(verdict(no_types, "2.30.7", 0).find("init") == std::string::npos);
  // A device without a PCI path, and one that has it after that.
  const std::string no_path =
      "[[host.hca]]\nname = \"rxe0\"\nlook = \"rxe\"\naddress = \"10.1.0.1/24\"\n"
      "[[host.hca]]\nname = \"mlx5_1\"\naddress = \"10.2.0.1/24\"\n";
  CHECK(verdict(no_path, "2.28.9", 1).find("crashes in its init") != std::string::npos);
  CHECK(verdict(no_path, "2.30.7", 0).find("init") == std::string::npos);
}
