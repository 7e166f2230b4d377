// Every scenario that comes with the tool, in each mode: the job ends as its description says, and
// what is told is what is wrong there, and nothing else.
#include <set>

#include "cli/tool.h"
#include "support/catch.h"

using namespace nnd::cli_test;
using nlohmann::json;

namespace {

using Words = std::set<std::string>;

// "error SUB-RAIL mlx5_bond_0" of each trouble.
Words told(const json& result) {
  Words out;
  for (const auto& one : result["troubles"])
    out.insert(one["sev"].get<std::string>() + " " + one["cause"].get<std::string>() + " " +
               one["dev"]["name"].get<std::string>());
  return out;
}

struct Expected {
  int exit_code = 0;
  Words must = {};
  Words may = {};  // besides
};

void check(const std::string& scenario, const std::string& mode, int ranks,
           const Expected& expected) {
  INFO(scenario << ", " << mode << ", " << ranks << " ranks");
  const Outcome outcome = run_tool({"demo", "--scenario", scenario, "--mode", mode, "--ranks",
                                    std::to_string(ranks), "--nccl", NND_CLI_NCCL, "--json"});
  INFO(outcome.err);
  const json result = outcome.json();
  INFO(result["verdict"]);
  CHECK(outcome.exit_code == expected.exit_code);
  const Words seen = told(result);
  for (const auto& one : expected.must) CHECK(seen.contains(one));
  for (const auto& one : seen) {
    INFO(one);
    CHECK((expected.must.contains(one) || expected.may.contains(one)));
  }
}

const std::vector<std::string> kModes{"off", "observe", "warn", "enforce"};

void check_healthy(const std::string& scenario, const std::vector<int>& sizes) {
  for (const int ranks : sizes)
    for (const auto& mode : kModes) check(scenario, mode, ranks, {});
}

void check_bond(const std::string& scenario, int ranks) {
  check(scenario, "off", ranks, {});
  check(scenario, "observe", ranks, {});
  check(scenario, "warn", ranks, {0, {"warn DEV-BOND mlx5_bond_0"}});
  check(scenario, "enforce", ranks, {0, {"error DEV-BOND mlx5_bond_0"}});
}

}  // namespace

TEST_CASE("all-bond", "[outcome-all-bond]") { check_healthy("all-bond", {2, 4}); }
TEST_CASE("ib-8-hca", "[outcome-ib-8-hca]") { check_healthy("ib-8-hca", {2, 16}); }
TEST_CASE("rails-routed", "[outcome-rails-routed]") { check_healthy("rails-routed", {2}); }
TEST_CASE("single-hca", "[outcome-single-hca]") { check_healthy("single-hca", {2}); }
TEST_CASE("sixteen-hca-256-gids", "[outcome-sixteen-hca-256-gids]") {
  check_healthy("sixteen-hca-256-gids", {2});
}

TEST_CASE("two-nodes-8-hca-bond", "[outcome-two-nodes-8-hca-bond]") {
  for (const int ranks : {2, 16}) check_bond("two-nodes-8-hca-bond", ranks);
}

TEST_CASE("eight-nodes-8-hca-bond", "[outcome-eight-nodes-8-hca-bond]") {
  check_bond("eight-nodes-8-hca-bond", 64);
}

TEST_CASE("link-drop", "[outcome-link-drop]") {
  // The GIDs in use stay where they were: no warning of the change.
  check("link-drop", "off", 2, {});
  for (const char* mode : {"observe", "warn", "enforce"})
    check("link-drop", mode, 2, {0, {"warn ASYNC-PORT mlx5_0"}});
}

TEST_CASE("front-end-bond", "[outcome-front-end-bond]") {
  check("front-end-bond", "off", 2, {1});
  // Which end dials, what else waits for the bond's connection, and who ends first is NCCL's.
  const Words may{"warn SUB-RAIL mlx5_bond_0", "warn HANG-CONNECT mlx5_bond_0",
                  "warn HANG-CONNECT mlx5_0", "error RC-6 mlx5_bond_0", "error RC-6 mlx5_0"};
  check("front-end-bond", "observe", 2, {1, {"error SUB-RAIL mlx5_bond_0"}, may});
  check("front-end-bond", "warn", 2,
        {1, {"error SUB-RAIL mlx5_bond_0", "warn DEV-BOND mlx5_bond_0"}, may});
  check("front-end-bond", "enforce", 2, {0, {"error DEV-BOND mlx5_bond_0"}});
}
