#include <cerrno>
#include <set>

#include "cli/preflight/talk.h"
#include "support/catch.h"

using namespace nnd::cli;

namespace {

// A ring of four, each trying both its neighbours; those that fail.
std::vector<MeetingTry> ring(const std::set<std::pair<int, int>>& failing) {
  std::vector<MeetingTry> out;
  const auto name = [](int node) { return "node" + std::to_string(node); };
  for (int node = 0; node < 4; ++node)
    for (const int other : {(node + 1) % 4, (node + 3) % 4})
      out.push_back({name(node), name(other), "10.0.0." + std::to_string(other), "eth0",
                     failing.contains({node, other}) ? ETIMEDOUT : 0});
  return out;
}

}  // namespace

TEST_CASE("hosts that all meet are no finding") { CHECK(unmet(ring({})).empty()); }

TEST_CASE("who is reached by nobody, or reaches nobody, is to be left out") {
  const auto deaf = unmet(ring({{0, 1}, {2, 1}}));
  REQUIRE(deaf.size() == 1);
  CHECK(deaf[0].weight == Weight::kLeaveOut);
  CHECK(deaf[0].hosts == std::vector<std::string>{"node1"});
  CHECK(deaf[0].cause == "OOB-BLOCKED");
  const auto mute = unmet(ring({{3, 0}, {3, 2}}));
  REQUIRE(mute.size() == 1);
  CHECK(mute[0].weight == Weight::kLeaveOut);
  CHECK(mute[0].hosts == std::vector<std::string>{"node3"});
  // Both ways.
  const auto gone = unmet(ring({{0, 1}, {2, 1}, {1, 0}, {1, 2}}));
  REQUIRE(gone.size() == 1);
  CHECK(gone[0].hosts == std::vector<std::string>{"node1"});
}

TEST_CASE("where one way alone is blocked, or none is open, nobody is left out") {
  const auto one = unmet(ring({{0, 1}}));
  REQUIRE(one.size() == 1);
  CHECK(one[0].weight == Weight::kMend);
  CHECK(one[0].hosts == std::vector<std::string>{"node0", "node1"});
  std::set<std::pair<int, int>> all;
  for (int node = 0; node < 4; ++node) all.insert({{node, (node + 1) % 4}, {node, (node + 3) % 4}});
  for (const auto& finding : unmet(ring(all))) CHECK(finding.weight == Weight::kMend);
}
