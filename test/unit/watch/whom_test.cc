// What a process tells its peers of a connection that waits.
#include "watch/whom.h"

#include "scene.h"
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
