// Who is late beside others of its node, which it may wait for without anybody's seeing it.
#include "support/catch.h"
#include "support/peers_fabric.h"

using nnd::peers::EndState;
using nnd::peers::Kind;
using nnd::test::PeersFabric;
using Alive = PeersFabric::Alive;

TEST_CASE("who was given less hears of one of its node that ended before it was found") {
  PeersFabric job(4);  // 0 and 1 are of one node; 1 ends, and 0 can't go on
  job.meet_all();
  job.waits(2, 0);
  job.waits(3, 1);
  job.waits(2, 3, EndState::kAwaitsRoom, 9000, true, 9);
  job.in(0, "AllReduce", 11);
  for (const std::size_t i : {std::size_t{2}, std::size_t{3}}) job.in(i, "AllReduce", 12);
  job.own(0).alone = false;
  job.alive(1) = Alive::kEnded;
  job.run(5000);
  for (int pass = 0; pass < 150; ++pass) {  // and that stays so
    job.run(100);
    for (const std::size_t i : {std::size_t{0}, std::size_t{2}, std::size_t{3}}) {
      INFO(i << " after " << pass);
      CHECK(job.claim(i).kind == Kind::kEnded);
      CHECK(job.claim(i).who.rank == 1);
    }
  }
}

TEST_CASE("who was given all that one of its node waits in is not late") {
  PeersFabric job(4);  // 0 and 1 are of one node: 1 waits for 3, which is in no hurry, and 0 for 1
  job.waits(1, 3);
  job.waits(2, 0);
  job.in(0, "Broadcast", 11);
  job.in(1, "Broadcast", 11);
  job.in(2, "Broadcast", 12);
  const bool late = GENERATE(true, false);
  if (late) job.in(1, "Broadcast", 12);
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    job.own(i).alone = false;
    job.own(i).siblings = {{PeersFabric::proc_of(1 - i), true}};
  }
  job.own(3).state.moves = true;
  job.run(4000);
  CHECK(job.claim(0).known() == late);
  CHECK(job.claim(2).known() == late);
}

TEST_CASE("who was given less is not named while one of its node doesn't answer") {
  PeersFabric job(3);  // 0 and 1 are of one node, and 1 is stopped
  job.meet_all();
  job.waits(2, 0);
  job.in(0, "AllReduce", 11);
  job.in(2, "AllReduce", 12);
  job.own(0).alone = false;
  job.own(0).siblings = {{PeersFabric::proc_of(1), true}};
  job.alive(1) = Alive::kStopped;
  for (int i = 0; i < 60; ++i) {
    job.run(100);
    CHECK(job.claim(0).kind != Kind::kIdle);
  }
  CHECK(job.claim(0).kind == Kind::kStopped);
  CHECK(job.claim(2).kind == Kind::kStopped);
}
