#include "cli/preflight/talk.h"

#include <fmt/format.h>

#include <functional>
#include <map>
#include <set>

#include "cli/preflight/plan.h"
#include "made.h"
#include "support/catch.h"

using namespace nnd::cli;
using namespace nnd::preflight_test;
using nlohmann::json;

namespace {

std::vector<HostDescription> hosts(int count, int rails) {
  std::vector<HostDescription> out;
  for (int number = 1; number <= count; ++number) {
    json check = nnd::preflight_test::check(number, rails);
    check["result"]["refused"] = 0;
    json devices = json::array();
    for (int rail = 0; rail < rails; ++rail) devices.push_back(fmt::format("mlx5_{}:1", rail));
    out.push_back(host_from({{"host", check["host"]}, {"devices", devices}, {"check", check}}));
  }
  return out;
}

using Bad = std::function<bool(const PairResult&)>;

// The ring's pairs, of which those fail.
std::vector<PairResult> tried(int count, int rails, const Bad& bad) {
  const auto all = hosts(count, rails);
  std::vector<PairResult> out;
  for (const auto& round : ring_of(all))
    for (const auto& lane : round)
      for (const auto& pair : lane) {
        PairResult one;
        one.from.host = all[pair.from_host].host;
        one.to.host = all[pair.to_host].host;
        one.from.hca = pair.from.substr(0, pair.from.find(':'));
        one.to.hca = pair.to.substr(0, pair.to.find(':'));
        one.from.port = one.to.port = 1;
        one.state = bad(one) ? PairState::kUnreachable : PairState::kReachable;
        one.why = "QP 30 could not go to RTR";
        out.push_back(std::move(one));
      }
  return out;
}

Bad at(const std::string& host, const std::string& hca) {
  return [=](const PairResult& pair) {
    return (pair.from.host == host || pair.to.host == host) &&
           (hca.empty() || pair.from.hca == hca);
  };
}

}  // namespace

TEST_CASE("in a ring every HCA is in two pairs, and no host in two of a round") {
  for (const int count : {2, 3, 4, 7, 64}) {
    std::map<std::string, int> seen;
    const auto all = hosts(count, 2);
    const auto rounds = ring_of(all);
    CHECK(rounds.size() == (count == 2 ? 1 : 2 + static_cast<std::size_t>(count % 2)));
    for (const auto& round : rounds) {
      std::set<std::size_t> busy;
      for (const auto& lane : round) {
        CHECK(busy.insert(lane.front().from_host).second);
        CHECK(busy.insert(lane.front().to_host).second);
        for (const auto& pair : lane) {
          ++seen[all[pair.from_host].host + pair.from];
          ++seen[all[pair.to_host].host + pair.to];
        }
      }
    }
    CHECK(seen.size() == static_cast<std::size_t>(count) * 2);
    for (const auto& [port, times] : seen) CHECK(times == (count == 2 ? 1 : 2));
  }
  CHECK(ring_of(hosts(1, 2)).empty());
}

TEST_CASE("an HCA that reaches neither neighbour is at fault") {
  for (const int count : {3, 4, 7}) {
    const auto found = silent_hcas(tried(count, 2, at("node2", "mlx5_1")));
    REQUIRE(found.size() == 1);
    CHECK(found[0].weight == Weight::kLeaveOut);
    CHECK(found[0].hosts == std::vector<std::string>{"node2"});
    CHECK(found[0].device == "mlx5_1");
  }
  CHECK(silent_hcas(tried(7, 2, [](const PairResult&) { return false; })).empty());
}

TEST_CASE("a node of which no HCA reaches anybody is told once") {
  const auto found = silent_hcas(tried(5, 3, at("node4", "")));
  REQUIRE(found.size() == 1);
  CHECK(found[0].hosts == std::vector<std::string>{"node4"});
  CHECK(found[0].device.empty());
  CHECK(found[0].text.starts_with("None of the 3 HCAs of node4 can talk with node3 or node5,"));
}

TEST_CASE("where one pair alone fails both ends are named, and none is left out") {
  const auto found = silent_hcas(tried(6, 2, [](const PairResult& pair) {
    return pair.from.host == "node2" && pair.to.host == "node3" && pair.from.hca == "mlx5_0";
  }));
  REQUIRE(found.size() == 1);
  CHECK(found[0].weight == Weight::kMend);
  CHECK(found[0].hosts == std::vector<std::string>{"node2", "node3"});
  CHECK(found[0].text.find("though each can talk with another node") != std::string::npos);
}

TEST_CASE("neighbours that are both at fault are both named") {
  const auto found = silent_hcas(tried(
      6, 1, [](const PairResult& pair) { return at("node2", "")(pair) || at("node3", "")(pair); }));
  REQUIRE(found.size() == 2);
  CHECK(found[0].hosts == std::vector<std::string>{"node2"});
  CHECK(found[1].hosts == std::vector<std::string>{"node3"});
}
