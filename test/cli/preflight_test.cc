// `nccl-net-diag preflight` as a user calls it, on emulated allocations.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>

#include "cli/fabrics.h"
#include "cli/places.h"
#include "cli/tool.h"
#include "support/catch.h"
#include "support/free_port.h"

using namespace nnd::cli_test;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

const std::string kFourHosts = hosts_with_rails(4);

// Four hosts with two rails; `more`: what is wrong.
class Fabric {
 public:
  explicit Fabric(const std::string& more = "") { std::ofstream(file()) << kFourHosts << more; }
  fs::path file() const { return dir_.path() / "four.toml"; }
  const fs::path& dir() const { return dir_.path(); }

 private:
  TemporaryDir dir_;
};

Outcome preflight(const Fabric& fabric, const std::vector<std::string>& more = {"--json"}) {
  std::vector<std::string> arguments{"preflight", "--scenario", fabric.file(), "--nccl",
                                     NND_CLI_NCCL};
  arguments.insert(arguments.end(), more.begin(), more.end());
  Tool tool(arguments);
  auto out = tool.wait();
  CHECK(tool.left_nothing());
  return out;
}

}  // namespace

TEST_CASE("an allocation whose HCAs all talk is a go", "[preflight]") {
  const Fabric fabric;
  const auto got = preflight(fabric);
  INFO(got.out << got.err);
  REQUIRE(got.exit_code == 0);
  const auto said = got.json();
  CHECK(said["go"] == true);
  CHECK(said["findings"].empty());
  CHECK(said["pairs"] == json{{"tried", 8}, {"talked", 8}});
  CHECK(said["hosts"] == json{"node0", "node1", "node2", "node3"});
  CHECK(said["environment"].size() >= 2);
  CHECK(said["job"] == json{{"ranks", 4}});
  CHECK(said["verdict"] ==
        "go: 4 nodes, and all 8 pairs of HCAs that were tried can talk; in a job of 4 ranks every "
        "byte was right.");
}

TEST_CASE("what only a job meets is found by a short one", "[preflight]") {
  const Fabric fabric(R"(
[[fault]]
kind = "refuse-rtr"
host = "node2"
hca = "mlx5_0"
nth = 6
errno = "ENETUNREACH"
)");  // a ping makes fewer QPs
  const auto got = preflight(fabric);
  INFO(got.out << got.err);
  REQUIRE(got.exit_code == 1);
  const auto said = got.json();
  CHECK(said["pairs"] == json{{"tried", 8}, {"talked", 8}});
  CHECK(said["job"] == json{{"ranks", 0}});
  CHECK(said["leave_out"].empty());
  REQUIRE(said["findings"].size() == 1);
  const auto& finding = said["findings"][0];
  CHECK(finding["weight"] == "mend");
  CHECK(finding["hosts"] == json{"node2"});
  CHECK(finding["hca"] == "mlx5_0");
  CHECK(finding["cause"] == "QP-101");
  CHECK(finding["msg"].get<std::string>().starts_with("A job of 4 ranks failed; node2 says: "));
}

TEST_CASE("what can't be rehearsed is a note, and no reason to wait", "[preflight]") {
  const Fabric fabric;
  Tool tool({"preflight", "--scenario", fabric.file(), "--nccl", NND_CLI_NCCL, "--json"},
            {{"NCCL_NVLS_ENABLE", "1"}});
  const auto got = tool.wait();
  INFO(got.out << got.err);
  REQUIRE(got.exit_code == 0);
  const auto said = got.json();
  CHECK(said["go"] == true);
  REQUIRE(said["findings"].size() == 1);
  CHECK(said["findings"][0]["weight"] == "note");
  CHECK(said["findings"][0]["msg"].get<std::string>().starts_with(
      "No short job was run; node0 says: NCCL_NVLS_ENABLE=1: "));
}

TEST_CASE("an HCA that talks to nobody is left out, by what its QPs met", "[preflight]") {
  const Fabric fabric(R"(
[[fault]]
kind = "refuse-rtr"
host = "node2"
hca = "mlx5_1"
errno = "ETIMEDOUT"
)");
  const auto got = preflight(fabric);
  INFO(got.out << got.err);
  REQUIRE(got.exit_code == 1);
  const auto said = got.json();
  CHECK(said["go"] == false);
  CHECK(said["leave_out"] == json{"node2"});
  REQUIRE(said["findings"].size() == 1);
  const auto& finding = said["findings"][0];
  CHECK(finding["weight"] == "leave out");
  CHECK(finding["hosts"] == json{"node2"});
  CHECK(finding["hca"] == "mlx5_1");
  CHECK(finding["cause"] == "QP-110");
  CHECK(finding["msg"].get<std::string>().find("can't talk with node3 or node1") !=
        std::string::npos);
  CHECK(said["pairs"] == json{{"tried", 8}, {"talked", 6}});
  CHECK(said["job"] == json{{"ranks", 3}});  // of the others
  const auto html = fabric.dir() / "page.html";
  const auto page = preflight(fabric, {"--html", html});
  CHECK(page.out.starts_with("not fine: no-go: leave out node2 of 4 nodes: mlx5_1 of node2"));
  CHECK(page.out.find("sbatch --exclude=node2\n") != std::string::npos);
  std::ifstream file(html);
  const std::string markup(std::istreambuf_iterator<char>(file), {});
  CHECK(markup.starts_with("<!DOCTYPE html>"));
  CHECK(markup.find("<li class=\"bad\">node2</li>") != std::string::npos);
  CHECK(markup.find("<td>mlx5_1</td>") != std::string::npos);
}

TEST_CASE("what each node said before is enough for a comparison", "[preflight]") {
  const Fabric fabric;
  std::string all;
  for (const char* host : {"node0", "node1", "node2", "node3"}) {
    const auto got = run_tool({"check", "--scenario", fabric.file(), "--host", host, "--json"},
                              {{"NCCL_IB_TC", host == std::string("node1") ? "41" : "106"}});
    REQUIRE(got.exit_code == 0);
    all += got.out;
  }
  const auto file = fabric.dir() / "checks.json";
  std::ofstream(file) << all;
  const auto got = run_tool({"preflight", "--from", file, "--json"});
  INFO(got.out << got.err);
  REQUIRE(got.exit_code == 1);
  const auto said = got.json();
  REQUIRE(said["findings"].size() == 1);
  CHECK(said["findings"][0]["cause"] == "ROCE-TC");
  CHECK(said["findings"][0]["msg"] == "NCCL_IB_TC is 41 on node1, and 106 on the other 3 nodes.");
  CHECK(said["leave_out"].empty());
}

TEST_CASE("a task that does not come is told", "[preflight]") {
  const Fabric fabric;
  const auto port = std::to_string(nnd::test::free_port());
  const auto got = run_tool({"preflight", "--nccl", NND_CLI_NCCL, "--arrival", "1", "--json"},
                            {{"RANK", "0"},
                             {"LOCAL_RANK", "0"},
                             {"WORLD_SIZE", "3"},
                             {"MASTER_ADDR", "127.0.0.1"},
                             {"MASTER_PORT", port},
                             {"NCCL_NET_DIAG_TOKEN", "a token of the test"}});
  INFO(got.out << got.err);
  REQUIRE(got.exit_code == 1);
  const auto said = got.json();
  const auto& findings = said["findings"];  // that this machine has no HCA may be another
  const auto told = std::find_if(findings.begin(), findings.end(), [](const json& one) {
    return one["msg"].get<std::string>().starts_with("Tasks 1, 2 did not come: ");
  });
  REQUIRE(told != findings.end());
  CHECK((*told)["weight"] == "mend");
  CHECK((*told)["msg"].get<std::string>().find("127.0.0.1:" + port) != std::string::npos);
}

namespace {

// Tasks of mpirun's; those of a node have numbers that follow each other.
class Launched {
 public:
  explicit Launched(const std::vector<int>& tasks_by_node) {
    for (const int tasks : tasks_by_node) tasks_ += tasks;
    for (std::size_t node = 0; node < tasks_by_node.size(); ++node)
      for (int local = 0; local < tasks_by_node[node]; ++local)
        variables_.push_back(of_task(node, local, tasks_by_node[node]));
  }

  std::unique_ptr<Tool> start(std::size_t task, std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"preflight", "--nccl", NND_CLI_NCCL, "--json", "--quiet", "--root",
                               "127.0.0.1:" + port_});
    return std::make_unique<Tool>(more, variables_[task]);
  }

 private:
  Variables of_task(std::size_t node, int local, int local_tasks) const {
    auto out = places_.environment(node);
    out.merge(Variables{{"OMPI_COMM_WORLD_RANK", std::to_string(variables_.size())},
                        {"OMPI_COMM_WORLD_SIZE", std::to_string(tasks_)},
                        {"OMPI_COMM_WORLD_LOCAL_RANK", std::to_string(local)},
                        {"OMPI_COMM_WORLD_LOCAL_SIZE", std::to_string(local_tasks)},
                        {"NCCL_NET_DIAG_TOKEN", "a token of the test"}});
    return out;
  }

  Places places_{kFourHosts};
  std::string port_ = std::to_string(nnd::test::free_port());
  int tasks_ = 0;
  std::vector<Variables> variables_;
};

}  // namespace

TEST_CASE("a node's first task speaks for all of its tasks", "[preflight]") {
  const Launched launched({2, 1, 3});
  // The others ask nobody: the one that listens is not there yet.
  for (const std::size_t other : {1U, 4U, 5U}) {
    const auto silent = launched.start(other)->wait();
    CHECK(silent.exit_code == 0);
    CHECK(silent.out.empty());
    CHECK(silent.err.empty());
  }
  const auto second = launched.start(2), third = launched.start(3);
  const auto got = launched.start(0)->wait();
  INFO(got.out << got.err);
  REQUIRE(got.exit_code == 0);
  const auto said = got.json();
  CHECK(said["hosts"] == json{"node0", "node1", "node2"});
  CHECK(said["job"] == json{{"ranks", 3}});
  for (const auto& other : {second.get(), third.get()}) {
    const auto silent = other->wait();
    CHECK(silent.exit_code == 0);
    CHECK(silent.out.empty());
  }
}

TEST_CASE("of nodes with several tasks it is told how many did not come", "[preflight]") {
  const Launched launched({2, 2, 2});
  const auto second = launched.start(2);
  const auto got = launched.start(0, {"--arrival", "5"})->wait();
  INFO(got.out << got.err);
  REQUIRE(got.exit_code == 1);
  const auto said = got.json();
  CHECK(said["hosts"] == json{"node0", "node1"});
  REQUIRE(said["findings"].size() == 1);
  CHECK(said["findings"][0]["msg"].get<std::string>().starts_with(
      "2 tasks of other nodes did not come: "));
  CHECK(second->wait().exit_code == 0);
}

TEST_CASE("a call of preflight that can't be carried out says why", "[preflight]") {
  CHECK(run_tool({"preflight"}).exit_code == 2);
  CHECK(run_tool({"preflight", "--from", "/nowhere"}).exit_code == 2);
  const auto second = run_tool({"preflight", "--json"}, {{"RANK", "1"},
                                                         {"LOCAL_RANK", "1"},
                                                         {"WORLD_SIZE", "4"},
                                                         {"MASTER_ADDR", "127.0.0.1"},
                                                         {"MASTER_PORT", "1"}});
  CHECK(second.exit_code == 2);
  CHECK(second.json()["error"]["kind"] == "tasks");
}
