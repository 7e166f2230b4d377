// A process that is forked while other threads ask the policy: the child finds its locks free.
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "guard/guard.h"
#include "guard/pairs.h"
#include "made_pair.h"
#include "support/catch.h"
#include "support/forked.h"
#include "support/temp_dir.h"
#include "unit/policy/made_node.h"

using namespace nnd;

namespace {

bool asks(std::uint32_t connection) {
  return guard::may_pair(made_pair(connection, "10.200.0.3")) &&
         !guard::may_pair(made_pair(connection, "10.9.0.3")) && guard::may_see_device("mlx5_0") &&
         !guard::hca_summary().empty();
}

}  // namespace

TEST_CASE("a child that is forked amid judgements of pairs can make its own") {
  // In a process of its own, since what is judged here is judged for good.
  REQUIRE(test::holds_in_child([] {
    const test::TempDir dir;
    config::Settings settings;
    settings.policy = dir.file("policy.toml", "mode = \"enforce\"\n[pair]\nsubnet = \"same\"\n");
    guard::start(settings);
    guard::judge(policy::test::rails(2).node, {});
    if (!asks(1)) return false;
    std::atomic<bool> end{false};
    std::atomic<std::uint32_t> next{2};
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i)
      threads.emplace_back([&] {
        while (!end) asks(++next);
      });
    threads.emplace_back([&] {
      while (!end) guard::start(settings);
    });
    while (next < 20) std::this_thread::yield();
    bool good = true;
    for (std::uint32_t i = 0; good && i < 50; ++i)
      good = test::holds_in_child([&] {
        guard::start(settings);
        guard::judge({}, {});
        return asks(1'000'000 + i);
      });
    end = true;
    for (auto& thread : threads) thread.join();
    return good;
  }));
}
