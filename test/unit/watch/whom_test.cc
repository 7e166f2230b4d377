// What a process tells its peers of a connection that waits.
#include "watch/whom.h"

#include "scene.h"
#include "state/ports.h"
#include "support/catch.h"

using namespace nnd;
using namespace nnd::watch;
using namespace nnd::watch::test;

namespace {

constexpr std::uint64_t kAge = 2'000'000'000;

peers::EndState state_of(Comm& comm, Wait wait, bool asked) {
  comm.at->about.peer_proc = 0xbeef;
  comm.at->publish();
  WaitHistory history;
  history.wait = wait;
  WaitCollector whom(kAge / 2, 1);
  whom.begin();
  whom.take(*comm.at, history, kAge, asked);
  const peers::LocalView own = whom.end(kAge);
  REQUIRE(own.edges.size() == 1);
  CHECK(own.edges[0].proc == 0xbeef);
  REQUIRE(own.edges[0].links.size() == 1);
  return own.edges[0].links[0].state;
}

}  // namespace

TEST_CASE("a send is stuck at the HCA only where NCCL asks whether it is done") {
  Comm comm(ConnectionKind::kSend);
  comm.ready().post(RequestKind::kSend).qp(3, 1);
  CHECK(state_of(comm, Wait::kStuckSend, true) == peers::EndState::kStuck);
  // As after an abort: what the HCA has completed since is not known.
  CHECK(state_of(comm, Wait::kStuckSend, false) == peers::EndState::kOwn);
}

TEST_CASE("a send of which the HCA has completed all waits for its own process") {
  Comm comm(ConnectionKind::kSend);
  comm.ready().post(RequestKind::kSend).qp(3, 3);
  CHECK(state_of(comm, Wait::kStuckSend, true) == peers::EndState::kOwn);
}

// It may end before its ports are looked at again.
TEST_CASE("what fails on a port that is down tells its peers of the port at once") {
  state::port_went_down("mlx5_3", 1, kSec);
  const auto failure = state::begin_failure(
      {0, "mlx5_3:1", "10.0.0.9"}, {nccl_net_diag::Cause::kAsyncPort, "It failed.", "Look."});
  state::count_event(failure.number);
  peers::LocalView own;
  add_failure(own, 3 * kSec);
  CHECK(own.port_down.cause == static_cast<unsigned>(nccl_net_diag::Cause::kAsyncPort) + 1);
  CHECK(std::string_view(own.port_down.place) == "mlx5_3:1");
  CHECK(own.port_down.age_ms == 2000);
  state::forget_port_histories();
  state::forget_failures();
}

TEST_CASE("what fails of a limit that is only a warning by itself is told to peers") {
  const auto failure = state::begin_failure(
      {0, "mlx5_0:1", "10.0.0.9"}, {nccl_net_diag::Cause::kLimNoFile, "It failed.", "Raise it."});
  const auto told = [] {
    peers::LocalView own;
    add_failure(own, kSec);
    return own.failed.cause;
  };
  state::count_event(failure.number);
  CHECK(told() == 0);
  state::count_event(failure.number, true);
  CHECK(told() == static_cast<unsigned>(nccl_net_diag::Cause::kLimNoFile) + 1);
  state::forget_failures();
}
