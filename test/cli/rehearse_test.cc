// `nccl-net-diag rehearse` as a user calls it, on the emulated fabric.
#include <poll.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <set>

#include "cli/fabrics.h"
#include "cli/tool.h"
#include "support/catch.h"
#include "support/free_port.h"

using namespace nnd::cli_test;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

const std::string kRails = NND_SCENARIOS "/two-nodes-8-hca-bond.toml";

std::vector<std::string> call(std::vector<std::string> more) {
  std::vector<std::string> arguments{"rehearse", "--nccl", NND_CLI_NCCL, "--json", "--quiet"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

const std::string kToken = "a token of the test";

// What a launcher sets for task 0 or 1 of two, each on a node of its own.
Variables one_of_two(const std::string& task, const std::string& port, const std::string& token,
                     const Variables& more = {}) {
  Variables out{{"RANK", task},
                {"WORLD_SIZE", "2"},
                {"LOCAL_RANK", "0"},
                {"LOCAL_WORLD_SIZE", "1"},
                {"MASTER_ADDR", "127.0.0.1"},
                {"MASTER_PORT", port},
                {"NCCL_NET_DIAG_TOKEN", token}};
  out.insert(more.begin(), more.end());
  return out;
}

// Every rank sends to another and receives from one, over an HCA whose peer is known.
void check_paths(const json& result, std::size_t ranks) {
  std::set<std::pair<int, std::string>> carrying;
  for (const auto& path : result["paths"]) {
    CHECK_FALSE(path["hca"].get<std::string>().empty());
    CHECK_FALSE(path["channels"].empty());
    CHECK(path["connections"] == path["channels"].size());
    CHECK(path["peer"]["hca"].is_string());
    CHECK(path["peer"]["rank"] != path["rank"]);
    if (path["bytes"] > 0)
      carrying.emplace(path["rank"].get<int>(), path["dir"].get<std::string>());
  }
  CHECK(carrying.size() == 2 * ranks);
}

}  // namespace

TEST_CASE("two nodes played by hand", "[rehearse]") {
  Tool tool(call({"--scenario", kRails, "--collective", "all_reduce,reduce_scatter", "--size",
                  "64K,1M", "--iterations", "3"}));
  const Outcome outcome = tool.wait();
  INFO(outcome.err << outcome.out);
  REQUIRE(outcome.exit_code == 0);
  const json result = outcome.json();
  CHECK(result["ok"] == true);
  CHECK(result["networks"] == json{"IB"});
  CHECK(result["failures"].empty());
  // The front-end bond, of which the built-in rules warn each rank.
  CHECK(result["troubles"].size() == 2);
  for (const auto& trouble : result["troubles"]) {
    CHECK(trouble["cause"] == "DEV-BOND");
    CHECK(trouble["dev"]["name"] == "mlx5_bond_0");
  }
  CHECK(result["hcas"].size() == 18);
  CHECK_FALSE(result["not_shown"].empty());
  check_paths(result, 2);
  std::vector<std::pair<std::string, int>> done;
  for (const auto& row : result["collectives"]) {
    done.emplace_back(row["collective"].get<std::string>(), row["bytes"].get<int>());
    CHECK(row["iterations"] == 3);
    CHECK(row["algorithm_gb_per_s"] > 0);
    CHECK(row["bus_gb_per_s"] > 0);
    CHECK(row["allowed_gb_per_s"] == 50);  // one rail of 400 Gbit/s a node
  }
  CHECK(done == std::vector<std::pair<std::string, int>>{{"all_reduce", 65536},
                                                         {"all_reduce", 1048576},
                                                         {"reduce_scatter", 65536},
                                                         {"reduce_scatter", 1048576}});
  CHECK(tool.left_nothing());
}

TEST_CASE("what can't be played is refused before anything starts", "[rehearse]") {
  for (const char* name : {"NCCL_ALGO", "NCCL_NVLS_ENABLE"}) {
    const std::string value = name == std::string("NCCL_ALGO") ? "NVLS" : "1";
    Tool tool(call({"--scenario", kRails, "--ranks", "4"}), {{name, value}});
    const Outcome outcome = tool.wait();
    INFO(outcome.out << outcome.err);
    CHECK(outcome.exit_code == 2);
    CHECK(outcome.json()["error"]["kind"] == "not-played");
    CHECK(outcome.json()["error"]["message"].get<std::string>().find("set " + std::string(name)) !=
          std::string::npos);
    CHECK(tool.left_nothing());
  }
}

TEST_CASE("what is wrong with a call", "[rehearse]") {
  struct Case {
    std::vector<std::string> arguments;
    int exit_code;
    std::string kind, nearest;
  };
  const TemporaryDir empty;
  for (const Case& one : {
           Case{{"--collective", "all_reduec"}, 2, "unknown-collective", "all_reduce"},
           Case{{"--collective", "barrier"}, 2, "unknown-collective", ""},
           Case{{"--size", "4X"}, 2, "size", ""},
           Case{{"--size", "0"}, 2, "size", ""},
           Case{{"--size", "1000G"}, 2, "size", ""},
           Case{{"--topo", "/no/such/file"}, 2, "topology", ""},
           Case{{"--scenario", "/no/such/file"}, 2, "scenario", ""},
           Case{{"--scenario", kRails, "--nodes", "3"}, 2, "scenario", ""},
           Case{{}, 3, "no-hca", ""},
       }) {
    Tool tool(call(one.arguments), {{"NCCL_NET_DIAG_SYSFS", empty.path()}});
    const Outcome outcome = tool.wait();
    INFO(outcome.out << outcome.err);
    CHECK(outcome.exit_code == one.exit_code);
    const json result = outcome.json();
    CHECK(result["ok"] == false);
    CHECK(result["error"]["kind"] == one.kind);
    CHECK(result["error"].value("nearest", "") == one.nearest);
    CHECK(tool.left_nothing());
  }
  const Outcome missing = run_tool({"rehearse", "--json", "--nccl", "/no/such/libnccl.so.2"});
  CHECK(missing.exit_code == 2);
  CHECK(missing.json()["error"]["kind"] == "no-nccl");
  CHECK(run_tool(call({"--nodes", "1"})).exit_code == 2);
  CHECK(run_tool(call({"--no-such-option"})).exit_code == 2);
}

TEST_CASE("a pair that cannot connect is named, and the job fails", "[rehearse]") {
  const TemporaryDir dir;
  const auto apart = dir.file("apart.toml", kApart);
  const Outcome outcome = run_tool(call({"--scenario", apart, "--deadline", "10"}));
  INFO(outcome.out << outcome.err);
  CHECK(outcome.exit_code == 1);
  const json result = outcome.json();
  CHECK_FALSE(result["failures"].empty());
  std::set<std::string> causes;
  for (const auto& trouble : result["troubles"]) causes.insert(trouble["cause"]);
  CHECK(causes.count("SUB-RAIL") == 1);
}

TEST_CASE("one node whose GPUs go through the network", "[rehearse]") {
  const TemporaryDir dir;
  const Variables through_the_network{{"NCCL_P2P_DISABLE", "1"}, {"NCCL_SHM_DISABLE", "1"}};
  const auto rehearse_one = [&](const std::string& name, const std::string& address) {
    const auto scenario =
        dir.file(name, "resolve_timeout_ms = 20\n[[host]]\n[[host.hca]]\ncount = 2\naddress = \"" +
                           address + "\"\n");
    return run_tool(call({"--scenario", scenario, "--nodes", "1", "--ranks", "2", "--size", "64K",
                          "--iterations", "1"}),
                    through_the_network);
  };
  const Outcome flat = rehearse_one("flat.toml", "10.0.{i}.1/16");
  INFO(flat.out << flat.err);
  CHECK(flat.exit_code == 0);
  const Outcome rails = rehearse_one("rails.toml", "10.0.{i}.1/24");
  INFO(rails.out << rails.err);
  CHECK(rails.exit_code == 1);
  std::set<std::string> causes;
  const json result = rails.json();
  for (const auto& trouble : result["troubles"]) causes.insert(trouble["cause"]);
  CHECK(causes.count("SUB-INTRA") == 1);
}

TEST_CASE("logs of an earlier run don't count, and what hides events is not obeyed", "[rehearse]") {
  const TemporaryDir dir;
  const auto logs = dir.path() / "logs";
  std::vector<json> results;
  for (const Variables& variables : {Variables{}, Variables{{"NCCL_NET_DIAG_EVENTS", "summary"},
                                                            {"NCCL_NET_DIAG_DISABLE", "1"}}}) {
    Tool tool(call({"--scenario", kRails, "--size", "64K", "--iterations", "2", "--logs", logs}),
              variables);
    const Outcome outcome = tool.wait();
    INFO(outcome.err << outcome.out);
    REQUIRE(outcome.exit_code == 0);
    results.push_back(outcome.json());
    check_paths(results.back(), 2);
    CHECK(results.back()["troubles"].size() == 2);
  }
  CHECK(results[0]["connections"].size() == results[1]["connections"].size());
  CHECK(results[0]["logs"] != results[1]["logs"]);
  for (const auto& result : results) {
    std::set<std::string> files;
    for (const auto& file : fs::directory_iterator(result["logs"].get<std::string>()))
      files.insert(file.path().filename());
    CHECK(files == std::set<std::string>{"rank0.jsonl", "rank0.out", "rank1.jsonl", "rank1.out"});
  }
}

TEST_CASE("nothing is written through links that lie among the logs", "[rehearse]") {
  const TemporaryDir dir;
  const auto victim = dir.file("victim", "untouched");
  const auto logs = dir.path() / "logs";
  fs::create_directory(logs);
  for (const char* name : {"rank0.out", "rank0.jsonl", "rank1.out"})
    fs::create_symlink(victim, logs / name);
  const Outcome outcome =
      run_tool(call({"--scenario", kRails, "--size", "64K", "--iterations", "1", "--logs", logs}));
  INFO(outcome.err << outcome.out);
  CHECK(outcome.exit_code == 0);
  std::ifstream in(victim);
  CHECK(std::string(std::istreambuf_iterator<char>(in), {}) == "untouched");

  const auto open = dir.path() / "open";
  fs::create_directory(open);
  fs::permissions(open, fs::perms::all);
  const Outcome refused = run_tool(call({"--scenario", kRails, "--logs", open}));
  CHECK(refused.exit_code == 2);
  CHECK(refused.json()["error"]["kind"] == "logs");
}

TEST_CASE("Ctrl-C ends all ranks, and shows what was seen until then", "[rehearse]") {
  Tool tool(call({"--scenario", kRails, "--iterations", "1000000"}));
  while (tool.processes() < 3) poll(nullptr, 0, 20);
  tool.interrupt();
  const Outcome outcome = tool.wait();
  CHECK(outcome.exit_code == 3);
  const json result = outcome.json();
  CHECK(result["verdict"].get<std::string>().starts_with("interrupted after "));
  CHECK(result["ranks"].size() == 2);
  CHECK(fs::exists(fs::path(result["logs"].get<std::string>()) / "rank0.out"));
  CHECK(tool.processes() == 0);
}

TEST_CASE("four tasks of a launcher on two nodes", "[launched]") {
  constexpr int kTasks = 4, kPerNode = 2;
  const auto port = std::to_string(nnd::test::free_port());
  const TemporaryDir home;
  std::vector<std::unique_ptr<Tool>> tasks;
  for (int i = 0; i < kTasks; ++i)
    tasks.push_back(
        std::make_unique<Tool>(call({"--scenario", kRails, "--size", "256K", "--iterations", "2"}),
                               Variables{{"RANK", std::to_string(i)},
                                         {"WORLD_SIZE", std::to_string(kTasks)},
                                         {"LOCAL_RANK", std::to_string(i % kPerNode)},
                                         {"LOCAL_WORLD_SIZE", std::to_string(kPerNode)},
                                         {"XDG_CONFIG_HOME", home.path()},
                                         {"MASTER_ADDR", "127.0.0.1"},
                                         {"MASTER_PORT", port}}));
  for (int i = kTasks - 1; i >= 0; --i) {
    const Outcome outcome = tasks[static_cast<std::size_t>(i)]->wait();
    INFO("task " << i << outcome.err << outcome.out);
    CHECK(outcome.exit_code == 0);
    CHECK(tasks[static_cast<std::size_t>(i)]->left_nothing());
    if (i != 0) {
      CHECK(outcome.out.empty());
      continue;
    }
    const json result = outcome.json();
    CHECK(result["ranks"].size() == kTasks);
    std::map<std::string, int> hosts;
    for (const auto& rank : result["ranks"]) ++hosts[rank["host"]];
    CHECK(hosts == std::map<std::string, int>{{"node0", 2}, {"node1", 2}});
    CHECK(result["collectives"].size() == 1);
    CHECK(result["hcas"].size() == 18 * 2);  // each task reports its host's
  }
}

TEST_CASE("a task that keeps a bad HCA out is fine, and tells it", "[launched]") {
  const auto port = std::to_string(nnd::test::free_port());
  std::vector<std::unique_ptr<Tool>> tasks;
  for (const char* task : {"0", "1"})
    tasks.push_back(std::make_unique<Tool>(
        call({"--scenario", kRails, "--size", "64K", "--iterations", "2"}),
        one_of_two(task, port, kToken,
                   {{"NCCL_NET_DIAG_MODE", task[0] == '1' ? "enforce" : "warn"}})));
  const Outcome other = tasks[1]->wait(), root = tasks[0]->wait();
  INFO(root.err << root.out << other.err);
  CHECK(other.exit_code == 0);
  CHECK(other.out.empty());
  CHECK(root.exit_code == 0);
  const json result = root.json();
  CHECK(result["failures"].empty());
  CHECK(result["collectives"].size() == 1);
  REQUIRE(result["troubles"].size() == 2);
  for (const auto& trouble : result["troubles"]) {
    CHECK(trouble["proc"].is_string());
    CHECK(trouble["mono_ns"] > 0);
  }
  CHECK(result["troubles"][0]["ev"] == "policy.warn");
  CHECK(result["troubles"][1]["ev"] == "policy.refuse");
}

TEST_CASE("tasks of a launcher whose job fails say how to come by a report, and it reads them all",
          "[launched]") {
  const TemporaryDir dir;
  const std::string logs = dir.path() / "logs";
  const auto fabric = dir.file("fabric.toml", R"(
resolve_timeout_ms = 20
[[host]]
count = 2
name = "node{h}"
[[host.hca]]
address = "10.0.0.{h+1}/24"
[[host.gpu]]
[[fault]]
kind = "refuse-rtr"
host = "node1"
errno = "ENETUNREACH"
)");
  const auto port = std::to_string(nnd::test::free_port());
  std::vector<std::unique_ptr<Tool>> tasks;
  for (const char* task : {"0", "1"})
    tasks.push_back(std::make_unique<Tool>(
        std::vector<std::string>{"rehearse", "--nccl", NND_CLI_NCCL, "--quiet", "--scenario",
                                 fabric, "--logs", logs, "--size", "64K", "--iterations", "2"},
        one_of_two(task, port, kToken)));
  const Outcome other = tasks[1]->wait(), root = tasks[0]->wait();
  INFO(root.err << root.out << other.err);
  CHECK(root.exit_code == 1);
  CHECK(root.out.find("nccl-net-diag report") != std::string::npos);
  const auto report = run_tool({"report", "--json", "--quiet", logs});
  INFO(report.out);
  CHECK(report.exit_code == 1);
  const json said = report.json();
  CHECK(said["kind"] == "failed");
  CHECK(said["cause"] == "QP-101");
  CHECK(said["processes"].size() == 2);
}

TEST_CASE("a launcher's tasks that don't find each other", "[launched]") {
  const auto port = std::to_string(nnd::test::free_port());
  const std::string key = "c0ffee0123456789-fedcba9876543210";  // mpirun's
  const Variables first{{"OMPI_COMM_WORLD_RANK", "0"},
                        {"OMPI_COMM_WORLD_SIZE", "2"},
                        {"OMPI_MCA_orte_precondition_transports", key}};
  const Variables second{{"OMPI_COMM_WORLD_RANK", "1"},
                         {"OMPI_COMM_WORLD_SIZE", "2"},
                         {"OMPI_MCA_orte_precondition_transports", key}};
  const auto told = run_tool(call({"--scenario", kRails}), first);
  CHECK(told.exit_code == 2);
  CHECK(told.json()["error"]["kind"] == "root");

  const auto alone = run_tool(
      call({"--scenario", kRails, "--root", "127.0.0.1:" + port, "--deadline", "2"}), second);
  CHECK(alone.exit_code == 3);
  CHECK(alone.json()["error"]["kind"] == "root");

  const auto waiting = run_tool(
      call({"--scenario", kRails, "--root", "127.0.0.1:" + port, "--deadline", "2"}), first);
  INFO(waiting.out);
  CHECK(waiting.exit_code != 0);
  std::set<std::string> failures = waiting.json()["failures"];
  CHECK(failures.count("only 1 of 2 tasks came") == 1);
}

TEST_CASE("a task with another secret is refused, and the job goes on", "[launched]") {
  const auto port = std::to_string(nnd::test::free_port());
  const auto start = [&](const char* task, const std::string& token) {
    return std::make_unique<Tool>(
        call({"--scenario", kRails, "--size", "64K", "--iterations", "2"}),
        one_of_two(task, port, token));
  };
  const auto root = start("0", "a token of the test");
  const auto stranger = start("1", "somebody else's token")->wait();
  INFO(stranger.out << stranger.err);
  CHECK(stranger.exit_code == 3);
  CHECK(stranger.json()["error"]["kind"] == "refused");
  CHECK(stranger.json()["error"]["message"].get<std::string>().find("NCCL_NET_DIAG_TOKEN") !=
        std::string::npos);
  const auto task = start("1", "a token of the test");
  CHECK(task->wait().exit_code == 0);
  const auto outcome = root->wait();
  INFO(outcome.err << outcome.out);
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.json()["ranks"].size() == 2);
}
