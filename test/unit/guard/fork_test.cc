// A process that is forked while other threads ask the policy: the child finds its locks free.
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "guard/guard.h"
#include "guard/pairs.h"
#include "support/catch.h"
#include "support/forked.h"
#include "support/temp_dir.h"
#include "unit/policy/made_node.h"

using namespace nnd;

namespace {

state::QpInfo pair(std::uint32_t connection, const std::string& remote) {
  state::QpInfo qp;
  qp.conn.id = connection;
  qp.device = "mlx5_0";
  qp.port = 1;
  qp.gid_index = 3;
  qp.local_gid = policy::test::raw_gid("10.200.0.2");
  qp.remote_gid = policy::test::raw_gid(remote);
  return qp;
}

bool asks(std::uint32_t connection) {
  return guard::may_pair(pair(connection, "10.200.0.3")) &&
         !guard::may_pair(pair(connection, "10.9.0.3")) && guard::may_see_device("mlx5_0") &&
         !guard::hca_summary().empty();
}

}  // namespace

TEST_CASE("a child that is forked amid judgements of pairs can make its own") {
  const test::TempDir dir;
  config::Settings settings;
  settings.policy = dir.file("policy.toml", "mode = \"enforce\"\n[pair]\nsubnet = \"same\"\n");
  guard::start(settings);
  guard::judge(policy::test::rails(2).node, {});
  REQUIRE(asks(1));
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
  for (int i = 0; i < 50; ++i)
    REQUIRE(test::holds_in_child([&] {
      guard::start(settings);
      guard::judge({}, {});
      return asks(1'000'000 + static_cast<std::uint32_t>(i));
    }));
  end = true;
  for (auto& thread : threads) thread.join();
}
