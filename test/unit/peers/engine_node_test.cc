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

TEST_CASE("where no calls are told, who has posted nothing since its neighbours did is late") {
  PeersFabric job(4);  // 0 and 1 are of one node
  constexpr std::uint64_t kMs = 1'000'000;
  job.waits(2, 0);
  job.waits(3, 1, EndState::kAwaitsRoom);
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    job.own(i).alone = false;
    job.own(i).worked = true;
    job.own(i).siblings = {{PeersFabric::proc_of(1 - i), true}};
    job.own(i).state.idle_ms = 9000;
    job.own(i).state.posted_ns = 500 * kMs;
    job.own(i).state.posted_receive_ns = 499 * kMs;
    job.own(i).rests = true;
  }
  SECTION("and all name it") {
    job.own(0).state.posted_ns = job.own(0).state.posted_receive_ns = 520 * kMs;
    REQUIRE(job.until_agreed(Kind::kIdle, 1, 8000));
    return;
  }
  SECTION("not while both are as far") {}
  SECTION("nor while NCCL has something to do there") {
    job.own(0).state.posted_ns = job.own(0).state.posted_receive_ns = 520 * kMs;
    job.own(1).rests = false;
  }
  SECTION("nor where the other has only sent since") { job.own(0).state.posted_ns = 520 * kMs; }
  SECTION("nor where it has never posted anything") {
    job.own(1).state.posted_ns = job.own(1).state.posted_receive_ns = 0;
  }
  SECTION("nor where the other waits itself") {
    job.own(0).state.posted_receive_ns = 520 * kMs;
    job.own(0).state.idle_ms = 0;
  }
  SECTION("nor where the other may be of another job") {
    job.own(0).state.posted_receive_ns = 520 * kMs;
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}})
      job.own(i).siblings[0].same_job = false;
  }
  job.run(5000);
  for (std::size_t i = 0; i < 4; ++i) {
    const Kind kind = job.claim(i).kind;
    CHECK((kind == Kind::kNone || kind == Kind::kRests));
  }
}

TEST_CASE(
    "where no calls are told, who rests is late if its neighbour waits for it over the others") {
  PeersFabric job(5);  // 0 and 1 are of one node; 1 waits for 3, 3 for 2, and 2 for 0
  job.waits(2, 0, EndState::kAwaitsRoom);
  job.waits(3, 2);
  job.waits(1, 3);
  job.waits(4, 0);
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    job.own(i).alone = false;
    job.own(i).siblings = {{PeersFabric::proc_of(1 - i), true}};
  }
  job.own(0).rests = true;
  job.own(0).state.posted_ns = 500'000'000;
  job.own(1).state.posted_receive_ns = 520'000'000;
  SECTION("and all name it") {
    REQUIRE(job.until_agreed(Kind::kIdle, 0, 8000));
    for (int pass = 0; pass < 100; ++pass) {  // and that stays so
      job.run(100);
      for (std::size_t i = 0; i < 5; ++i) CHECK(job.claim(i).kind == Kind::kIdle);
    }
    return;
  }
  SECTION("not while NCCL has something to do there") { job.own(0).rests = false; }
  SECTION("nor where that one has posted nothing since") {
    job.own(1).state.posted_receive_ns = 500'100'000;
  }
  SECTION("nor where it is not known whom that one waits for in the end") {
    job.own(3).edges.clear();
    job.own(3).state.moves = true;
  }
  SECTION("nor where that one waits for another too") {
    job.waits(1, 4);
    job.own(4).edges.clear();
    job.own(4).state.moves = true;
  }
  SECTION("nor where all wait to receive, which it may send for that one") {
    for (const std::size_t i : {std::size_t{2}, std::size_t{4}}) {
      job.own(i).edges.clear();
      job.waits(i, 0);
    }
  }
  SECTION("nor where that one may be of another job") { job.own(0).siblings[0].same_job = false; }
  job.run(12000);
  for (std::size_t i = 0; i < 5; ++i) {
    INFO(i);
    const Kind kind = job.claim(i).kind;
    CHECK((kind == Kind::kNone || kind == Kind::kRests));
  }
}
