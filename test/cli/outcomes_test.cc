// Every scenario that comes with the tool, in each mode, with as many ranks as NND_OUTCOME_RANKS
// says: the job ends as its description says, and what is told is what is wrong there, and nothing
// else.
#include <cstdlib>
#include <set>

#include "cli/tool.h"
#include "support/catch.h"

using namespace nnd::cli_test;
using nlohmann::json;

namespace {

using Words = std::set<std::string>;

int ranks() {
  const char* said = std::getenv("NND_OUTCOME_RANKS");
  REQUIRE(said != nullptr);
  return std::stoi(said);
}

// "error SUB-RAIL mlx5_bond_0" of each trouble.
Words told(const json& result) {
  Words out;
  for (const auto& one : result["troubles"])
    out.insert(one["sev"].get<std::string>() + " " + one["cause"].get<std::string>() + " " +
               one["dev"]["name"].get<std::string>());
  return out;
}

Outcome demo(const std::string& scenario, const std::string& mode) {
  return run_tool({"demo", "--scenario", scenario, "--mode", mode, "--ranks",
                   std::to_string(ranks()), "--nccl", NND_CLI_NCCL, "--json"});
}

struct Expected {
  int exit_code = 0;
  Words must = {};
  Words may = {};  // besides
};

void check(const std::string& scenario, const std::string& mode, const Expected& expected) {
  INFO(scenario << ", " << mode << ", " << ranks() << " ranks");
  const Outcome outcome = demo(scenario, mode);
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

void check_healthy(const std::string& scenario) {
  for (const char* mode : {"off", "observe", "warn", "enforce"}) check(scenario, mode, {});
}

void check_bond(const std::string& scenario) {
  check(scenario, "off", {});
  check(scenario, "observe", {});
  check(scenario, "warn", {0, {"warn DEV-BOND mlx5_bond_0"}});
  check(scenario, "enforce", {0, {"error DEV-BOND mlx5_bond_0"}});
}

// The scenario says how many GPUs a host has: more ranks are refused, with what is possible.
bool too_many(const std::string& scenario, int possible) {
  if (ranks() <= possible) return false;
  const Outcome outcome = demo(scenario, "warn");
  CHECK(outcome.exit_code == 2);
  const json error = outcome.json()["error"];
  CHECK(error["kind"] == "scenario");
  INFO(error["message"]);
  CHECK(error["message"].get<std::string>().ends_with("at most " + std::to_string(possible) +
                                                      " ranks here"));
  return true;
}

}  // namespace

TEST_CASE("all-bond", "[outcome-all-bond]") { check_healthy("all-bond"); }
TEST_CASE("rails-routed", "[outcome-rails-routed]") { check_healthy("rails-routed"); }
TEST_CASE("single-hca", "[outcome-single-hca]") { check_healthy("single-hca"); }
TEST_CASE("sixteen-hca-256-gids", "[outcome-sixteen-hca-256-gids]") {
  check_healthy("sixteen-hca-256-gids");
}

TEST_CASE("ib-8-hca", "[outcome-ib-8-hca]") {
  if (!too_many("ib-8-hca", 16)) check_healthy("ib-8-hca");
}

TEST_CASE("two-nodes-8-hca-bond", "[outcome-two-nodes-8-hca-bond]") {
  if (!too_many("two-nodes-8-hca-bond", 16)) check_bond("two-nodes-8-hca-bond");
}

TEST_CASE("eight-nodes-8-hca-bond", "[outcome-eight-nodes-8-hca-bond]") {
  check_bond("eight-nodes-8-hca-bond");
}

TEST_CASE("link-drop", "[outcome-link-drop]") {
  // The GIDs in use stay where they were: no warning of the change.
  check("link-drop", "off", {});
  for (const char* mode : {"observe", "warn", "enforce"})
    check("link-drop", mode, {0, {"warn ASYNC-PORT mlx5_0"}});
}

TEST_CASE("front-end-bond", "[outcome-front-end-bond]") {
  if (too_many("front-end-bond", 2)) return;
  check("front-end-bond", "off", {1});
  // Which end dials, what else waits for the bond's connection, and who ends first is NCCL's.
  const Words may{"warn SUB-RAIL mlx5_bond_0", "warn HANG-CONNECT mlx5_bond_0",
                  "warn HANG-CONNECT mlx5_0", "error RC-6 mlx5_bond_0", "error RC-6 mlx5_0"};
  check("front-end-bond", "observe", {1, {"error SUB-RAIL mlx5_bond_0"}, may});
  check("front-end-bond", "warn",
        {1, {"error SUB-RAIL mlx5_bond_0", "warn DEV-BOND mlx5_bond_0"}, may});
  check("front-end-bond", "enforce", {0, {"error DEV-BOND mlx5_bond_0"}});
}
