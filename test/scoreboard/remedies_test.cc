// Jobs that fail, or warn, until the advice of their log is followed: remedies.toml, beside what
// the table's own entries advise (scoreboard_test.cc). NND_SCOREBOARD_ONLY=ID plays one.
#include "scoreboard/remedies.h"

#include <cstdlib>

#include "support/catch.h"
#include "support/skip.h"

using namespace nnd::scoreboard;

namespace {

bool wanted(const Entry& entry) {
  const char* only = std::getenv("NND_SCOREBOARD_ONLY");
  return only == nullptr || entry.id == only;
}

}  // namespace

TEST_CASE("a job that fails works once its advice is followed", "[remedies]") {
  for (const Entry& entry : read_entries(NND_REMEDIES)) {
    if (!wanted(entry)) continue;
    INFO(entry.id << ": " << entry.played);
    const Seen broken = play(entry.faulty, entry.policy, nullptr);
    if (broken.trouble.starts_with("SKIPPED")) {
      nnd::test::skipped(broken.trouble);
      continue;
    }
    CHECK_FALSE(broken.ok);
    CHECK(check_remedies(entry, broken) > 0);
  }
}

// The advice for a person, followed by hand: which HCA is on which rail only the subnets say.
TEST_CASE("nodes that number their rails differently work with one rail", "[remedies]") {
  for (const Entry& entry : read_entries(NND_ENTRIES)) {
    if (entry.id != "DEV-ORDER" && entry.id != "SUB-DIRECT") continue;
    INFO(entry.id);
    World world = entry.faulty;
    world.of_nodes = {{{"NCCL_IB_HCA", "=mlx5_0"}}, {{"NCCL_IB_HCA", "=mlx5_1"}}};
    const Seen one_rail = play(world, entry.policy, nullptr);
    CHECK(one_rail.ok);
    for (const auto& event : one_rail.events) CHECK(event["sev"] == "info");
    // ... and the order of the names changes nothing.
    world.of_nodes = {{{"NCCL_IB_HCA", "=mlx5_0,mlx5_1"}}, {{"NCCL_IB_HCA", "=mlx5_1,mlx5_0"}}};
    CHECK_FALSE(play(world, entry.policy, nullptr).ok);
  }
}
