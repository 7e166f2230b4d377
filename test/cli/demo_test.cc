// `nccl-net-diag demo` as a user calls it.
#include <poll.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <vector>

#include "cli/tool.h"
#include "support/catch.h"

using namespace nnd::cli_test;
using nlohmann::json;
namespace fs = std::filesystem;

TEST_CASE("the demo is a job of a real NCCL over nine HCAs a node", "[demo]") {
  Tool tool({"demo", "--nccl", NND_CLI_NCCL, "--json"});
  const Outcome outcome = tool.wait();
  INFO(outcome.err << outcome.out);
  REQUIRE(outcome.exit_code == 0);
  const json result = outcome.json();
  CHECK(result["failures"].empty());
  REQUIRE(result["processes"].size() == 2);
  for (const auto& process : result["processes"]) CHECK(process["wraps"] == "IB");
  std::map<std::string, int> taken;
  for (const auto& hca : result["hcas"])
    if (hca["verdict"] == "taken") ++taken[hca["proc"]];
  REQUIRE(taken.size() == 2);
  for (const auto& [process, count] : taken) CHECK(count == 9);
  // The front-end bond, of which the built-in rules warn each rank.
  CHECK(result["troubles"].size() == 2);
  for (const auto& trouble : result["troubles"]) {
    CHECK(trouble["cause"] == "DEV-BOND");
    CHECK(trouble["dev"]["name"] == "mlx5_bond_0");
  }

  std::set<std::pair<std::string, std::string>> ways;
  for (const auto& connection : result["connections"]) {
    ways.emplace(connection["proc"].get<std::string>(), connection["dir"].get<std::string>());
    CHECK(connection["bytes"] > 0);
    CHECK(connection["failed"] == 0);
    REQUIRE_FALSE(connection["qps"].empty());
    for (const auto& states : connection["qps"]) CHECK(states == json{"INIT", "RTR", "RTS"});
  }
  CHECK(ways.size() == 4);  // both ranks, both directions

  const fs::path logs = result["logs"].get<std::string>();
  std::set<std::string> files;
  for (const auto& entry : fs::directory_iterator(logs)) files.insert(entry.path().filename());
  CHECK(files == std::set<std::string>{"rank0.jsonl", "rank0.out", "rank1.jsonl", "rank1.out"});
  CHECK(tool.processes() == 0);
}

TEST_CASE("the demo's own errors", "[demo]") {
  CHECK(run_tool({"demo", "--scenario", "no-such-fabric"}).exit_code == 2);
  CHECK(run_tool({"demo", "--ranks", "1"}).exit_code == 2);
  const TemporaryDir dir;
  const Outcome unreadable =
      run_tool({"demo", "--nccl", dir.file("libnccl.so.2", "no library"), "--json"});
  CHECK(unreadable.exit_code == 3);
  CHECK(unreadable.json()["verdict"].get<std::string>().find(dir.path()) != std::string::npos);
  // One node would have them all, and no network.
  const Outcome odd = run_tool({"demo", "--nccl", NND_CLI_NCCL, "--ranks", "3", "--json"});
  CHECK(odd.exit_code == 2);
  CHECK(odd.json()["error"]["kind"] == "ranks");
  // More ranks than the fabric's nodes have GPUs for.
  CHECK(run_tool(
            {"demo", "--nccl", NND_CLI_NCCL, "--ranks", "64", "--scenario", "two-nodes-8-hca-bond"})
            .exit_code == 2);
}

TEST_CASE("the field's most common report: enforced, the job runs on the rails", "[demo]") {
  const Outcome outcome = run_tool({"demo", "--nccl", NND_CLI_NCCL, "--scenario", "front-end-bond",
                                    "--mode", "enforce", "--json"});
  INFO(outcome.err << outcome.out);
  REQUIRE(outcome.exit_code == 0);
  const json result = outcome.json();
  std::set<std::string> hosts;
  for (const auto& process : result["processes"]) hosts.insert(process["host"]);
  CHECK(hosts == std::set<std::string>{"node0", "node1"});  // the scenario's
  for (const auto& hca : result["hcas"])
    CHECK(hca["verdict"] == (hca["dev"]["name"] == "mlx5_bond_0" ? "refused" : "taken"));
  REQUIRE_FALSE(result["connections"].empty());
  for (const auto& connection : result["connections"]) {
    CHECK(connection["dev"] != "mlx5_bond_0");
    CHECK(connection["bytes"] > 0);
  }
}

TEST_CASE("a demo whose progress nobody reads goes on, in a directory of any name", "[demo]") {
  const TemporaryDir dir;
  const auto place = dir.path() / "100%h %p \xff";  // no UTF-8
  fs::create_directory(place);
  const auto result = dir.path() / "result";
  const std::string command = "{ TMPDIR='" + place.string() +
                              "' " NND_TOOL " demo --nccl " NND_CLI_NCCL " --json >" +
                              result.string() + "; } 2>&1 | true";
  std::system(command.c_str());
  std::ifstream in(result);
  const json told = json::parse(in);
  CHECK(told["exit_code"] == 0);
  CHECK(told["events"] > 0);
  std::vector<fs::path> left;
  for (const auto& entry : fs::directory_iterator(place)) left.push_back(entry.path());
  REQUIRE(left.size() == 1);  // the logs alone
  CHECK(fs::exists(left[0] / "rank0.jsonl"));
}

TEST_CASE("the demo without the shim", "[demo]") {
  const Outcome outcome = run_tool({"demo", "--nccl", NND_CLI_NCCL, "--mode", "off", "--json"});
  INFO(outcome.err << outcome.out);
  REQUIRE(outcome.exit_code == 0);
  const json result = outcome.json();
  CHECK(result["failures"].empty());
  CHECK(result["events"] == 0);
}

TEST_CASE("the list of scenarios", "[demo]") {
  const json list = run_tool({"demo", "--list", "--json"}).json()["scenarios"];
  std::set<std::string> names;
  for (const auto& one : list) {
    names.insert(one["name"]);
    CHECK_FALSE(one["description"].get<std::string>().empty());
  }
  CHECK(names.count("two-nodes-8-hca-bond") == 1);
}

TEST_CASE("Ctrl-C shows what was seen until then, and leaves its logs and no process", "[demo]") {
  Tool tool({"demo", "--nccl", NND_CLI_NCCL, "--json"});
  while (tool.processes() < 3) poll(nullptr, 0, 20);  // the tool and its two ranks
  tool.interrupt();
  const Outcome outcome = tool.wait();
  INFO(outcome.err << outcome.out);
  CHECK(outcome.exit_code == 3);
  const json result = outcome.json();
  CHECK(result["verdict"].get<std::string>().starts_with("interrupted after "));
  CHECK(fs::is_directory(result["logs"].get<std::string>()));
  CHECK(tool.processes() == 0);
}
