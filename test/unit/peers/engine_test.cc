#include "nccl_net_diag/causes.h"
#include "support/catch.h"
#include "support/peers_fabric.h"

using nnd::peers::EndState;
using nnd::peers::Kind;
using nnd::test::PeersFabric;
using Alive = PeersFabric::Alive;

namespace {

// Each waits for the next, the last for nobody.
void chain(PeersFabric& job, std::size_t processes) {
  for (std::size_t i = 0; i + 1 < processes; ++i) {
    job.waits(i, i + 1);
    job.in(i, "AllReduce", 12);
  }
  job.in(processes - 1, "AllReduce", 11);
}

// As a ring collective waits where `late` has not come: its neighbours for it, the others for
// theirs in its direction.
void ring_without(PeersFabric& job, std::size_t processes, std::size_t late) {
  for (std::size_t i = 0; i < processes; ++i) {
    if (i == late) continue;
    job.in(i, "AllReduce", 12);
    job.waits(i, (i + processes - 1) % processes, EndState::kAwaitsData, 9000, false,
              static_cast<std::uint32_t>(i + 1));
    if ((i + 1) % processes == late)
      job.waits(i, late, EndState::kAwaitsRoom, 9000, true, static_cast<std::uint32_t>(late + 1));
  }
  job.in(late, "AllReduce", 11);
}

}  // namespace

TEST_CASE("all that wait name the one that waits for nobody") {
  PeersFabric job(16);
  ring_without(job, 16, 5);
  const auto took = job.until_agreed(Kind::kIdle, 5, 3000);
  REQUIRE(took);
  CHECK(*took <= 1000);
  const auto said = job.claim(9);
  CHECK(said.hops == 4);
  CHECK(said.who.rank == 5);
  CHECK(std::string_view(said.who.host) == "node0");
  CHECK(said.doing.ordinal == 11);
}

TEST_CASE("a chain of 1,023 hops is followed within three seconds") {
  PeersFabric job(1024);
  chain(job, 1024);
  const auto took = job.until_agreed(Kind::kIdle, 1023, 5000);
  REQUIRE(took);
  CHECK(*took <= 3000);
  CHECK(job.claim(0).hops == 1023);
}

TEST_CASE("nobody asks while nothing waits for long, and few messages go while all wait") {
  PeersFabric job(64);
  ring_without(job, 64, 3);
  for (std::size_t i = 0; i < 64; ++i) job.own(i).waits_ms = std::min(job.own(i).waits_ms, 7000u);
  job.run(3000);
  CHECK(job.messages() == 0);
  CHECK(job.claim(10).kind == Kind::kNone);
  for (std::size_t i = 0; i < 64; ++i) job.own(i).waits_ms = i == 3 ? 0 : 9000;
  job.run(10'000);
  CHECK(job.most_of_one() <= 100);  // ten a second
  CHECK(job.claim(10).kind == Kind::kIdle);
}

TEST_CASE("a process that has ended is named, and why it failed where it said so before") {
  PeersFabric job(8);
  ring_without(job, 8, 2);
  job.run(1500);
  job.alive(2) = Alive::kEnded;
  REQUIRE(job.until_agreed(Kind::kEnded, 2, 3000));
  PeersFabric told(8);
  ring_without(told, 8, 2);
  told.run(1500);
  told.own(2).failed = {7, {}, 100};
  told.run(1500);
  told.alive(2) = Alive::kEnded;
  told.run(3000);
  for (std::size_t i = 0; i < 8; ++i) {
    if (i == 2) continue;
    CHECK(told.claim(i).kind == Kind::kFailed);
    CHECK(told.claim(i).cause == 7);
    CHECK(told.claim(i).who.rank == 2);
  }
}

TEST_CASE("a stopped process and a node that is gone are told apart by the node's kernel") {
  for (const Alive how : {Alive::kStopped, Alive::kGone}) {
    PeersFabric job(8);
    ring_without(job, 8, 6);
    job.run(1500);
    job.alive(6) = how;
    const Kind kind = how == Alive::kStopped ? Kind::kStopped : Kind::kGone;
    const auto took = job.until_agreed(kind, 6, 8000);
    REQUIRE(took);
    CHECK(*took <= 6000);
    // It goes on: nothing of it is believed any more.
    job.alive(6) = Alive::kYes;
    REQUIRE(job.until_agreed(Kind::kIdle, 6, 3000));
  }
}

TEST_CASE("who has never answered is not called stopped") {
  PeersFabric job(4);
  ring_without(job, 4, 1);
  job.alive(1) = Alive::kStopped;
  job.run(10'000);
  for (const std::size_t i : {std::size_t{0}, std::size_t{2}, std::size_t{3}})
    CHECK(job.claim(i).kind == Kind::kNone);
}

TEST_CASE("who has only said hello is known by its name, and when it ends or stops") {
  for (const Alive how : {Alive::kEnded, Alive::kStopped}) {
    PeersFabric job(4);
    ring_without(job, 4, 1);
    job.meet_all();
    job.alive(1) = how;
    const Kind kind = how == Alive::kEnded ? Kind::kEnded : Kind::kStopped;
    REQUIRE(job.until_agreed(kind, 1, 6000));
    CHECK(job.claim(0).who.rank == 1);
    CHECK(job.claim(0).who.pid == 1001);
  }
}

TEST_CASE("who has done nothing yet is not called idle") {
  PeersFabric job(2);
  job.waits(0, 1, EndState::kBeingMade);
  job.own(1).worked = false;
  job.run(5000);
  CHECK(job.claim(0).kind == Kind::kNone);
  CHECK(job.claim(1).kind == Kind::kNone);
}

TEST_CASE("two neighbours in different collectives are told at once") {
  PeersFabric job(2);
  job.waits(0, 1, EndState::kAwaitsData, 9000, false, 1);
  job.waits(1, 0, EndState::kAwaitsData, 9000, false, 2);
  job.in(0, "AllReduce", 5);
  job.in(1, "Broadcast", 5);
  job.run(1000);
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    const auto said = job.claim(i);
    CHECK(said.kind == Kind::kCycle);
    CHECK(said.who.rank != said.other.rank);
  }
}

TEST_CASE("a connection whose ends disagree is the root for all") {
  PeersFabric job(6);
  for (std::size_t i = 0; i < 6; ++i) {
    job.in(i, "AllReduce", 12);
    job.waits(i, (i + 5) % 6, EndState::kAwaitsData, 9000, false,
              static_cast<std::uint32_t>(i + 1));
  }
  // 2 has something for 3, which has posted its receive; neither hears of it.
  job.waits(2, 3, EndState::kAwaitsRoom, 9000, true, 4);
  REQUIRE(job.until_agreed(Kind::kPair, PeersFabric::proc_of(2) < PeersFabric::proc_of(3) ? 2 : 3,
                           4000));
  CHECK(job.claim(0).other.known());
}

TEST_CASE("two waits over different connections are no disagreement") {
  PeersFabric job(2);
  job.waits(0, 1, EndState::kAwaitsData, 9000, false, 1);
  job.waits(1, 0, EndState::kAwaitsRoom, 9000, false, 2);
  job.run(500);
  CHECK(job.claim(0).kind != Kind::kPair);
  CHECK(job.claim(1).kind != Kind::kPair);
}

TEST_CASE("ranks that wait for each other in a ring are told with what they are in") {
  for (const std::size_t tail : {std::size_t{0}, std::size_t{5}}) {  // others wait for the ring
    PeersFabric job(7 + tail);
    for (std::size_t i = 0; i < 7; ++i) {
      job.waits(i, (i + 1) % 7);
      job.in(i, i == 4 ? "Broadcast" : "AllReduce", 5);
    }
    for (std::size_t i = 7; i < 7 + tail; ++i) {
      job.waits(i, i == 7 ? 0 : i - 1);
      job.in(i, "AllReduce", 5);
    }
    job.run(5000);
    for (std::size_t i = 0; i < 7 + tail; ++i) {
      const auto said = job.claim(i);
      REQUIRE(said.kind == Kind::kCycle);
      CHECK(std::string_view(said.doing.func) == "AllReduce");
      CHECK(said.other.rank == 4);
      CHECK(std::string_view(said.other_doing.func) == "Broadcast");
    }
  }
}

TEST_CASE("one message of five is lost, and the root is found all the same") {
  for (const std::uint64_t seed : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 9u, 10u}) {
    PeersFabric job(16, 0.2, seed);
    ring_without(job, 16, 11);
    job.run(4000);
    std::size_t right = 0;
    for (std::size_t i = 0; i < 16; ++i) {
      const auto said = job.claim(i);
      CHECK((said.kind == Kind::kIdle || said.kind == Kind::kNone));
      right += said.kind == Kind::kIdle && said.who.rank == 11 ? 1 : 0;
    }
    CHECK(right >= 15);
  }
}

TEST_CASE("what is over is forgotten") {
  PeersFabric job(8);
  ring_without(job, 8, 2);
  REQUIRE(job.until_agreed(Kind::kIdle, 2, 3000));
  for (std::size_t i = 0; i < 8; ++i) {
    job.own(i).edges.clear();
    job.own(i).waits_ms = 0;
    job.own(i).state.moves = true;
    job.own(i).state.idle_ms = 0;
  }
  job.run(8000);
  for (std::size_t i = 0; i < 8; ++i) CHECK(job.claim(i).kind == Kind::kNone);
  // A ring of those that have heard of it keeps no rumour alive.
  for (std::size_t i = 0; i < 8; ++i) {
    job.own(i).state.moves = false;
    job.waits(i, (i + 1) % 8);
  }
  job.run(8000);
  for (std::size_t i = 0; i < 8; ++i) CHECK(job.claim(i).kind == Kind::kCycle);
}

TEST_CASE("a port that is down is the root before what follows from it") {
  PeersFabric job(6);
  ring_without(job, 6, 0);
  job.own(3).port_down = {1, {}, 12'000};
  job.own(3).port_down.place = "mlx5_2:1";
  job.run(3000);
  for (std::size_t i = 3; i < 6; ++i) {
    CHECK(job.claim(i).kind == Kind::kPort);
    CHECK(std::string_view(job.claim(i).place) == "mlx5_2:1");
  }
}

TEST_CASE("a process that wants nothing of the network finds its sibling that is behind") {
  PeersFabric job(4);  // 0 and 1 are of one node, 2 and 3 of another; 1 has not come
  job.waits(2, 1);
  job.waits(3, 0, EndState::kAwaitsRoom, 9000, true, 9);
  for (const std::size_t i : {std::size_t{0}, std::size_t{2}, std::size_t{3}})
    job.in(i, "AllReduce", 12);
  job.in(1, "AllReduce", 11);
  job.own(0).inside = true;
  job.own(0).siblings = {{PeersFabric::proc_of(1), true}};
  job.own(0).alone = false;
  REQUIRE(job.until_agreed(Kind::kIdle, 1, 4000));
}

TEST_CASE("what a process has for another one of its node is not what it waits for itself") {
  PeersFabric job(4);  // 0 and 1 are of one node; 0 has not come, and its HCA is where 1 sends
  job.waits(2, 0);
  job.waits(3, 2);
  for (std::size_t i = 1; i < 4; ++i) job.in(i, "AllReduce", 12);
  job.in(0, "AllReduce", 11);
  job.own(0).relayed = {
      {PeersFabric::proc_of(3), 9000, {{true, 7, EndState::kAwaitsRoom, 9000, {}}}}};
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    job.own(i).inside = true;
    job.own(i).alone = false;
    job.own(i).siblings = {{PeersFabric::proc_of(1 - i), true}};
  }
  job.run(4000);
  for (const std::size_t i : {std::size_t{0}, std::size_t{2}, std::size_t{3}}) {
    CHECK(job.claim(i).kind == Kind::kIdle);
    CHECK(job.claim(i).who.rank == 0);
  }
}

TEST_CASE("what it has for another one of its node leads to who does not read") {
  PeersFabric job(4);  // 0 and 1 are of one node, and 0 has what 1 sends to 3, which is late
  job.waits(2, 0);     // as 1, which shows nothing, waits for 3
  for (std::size_t i = 0; i < 3; ++i) job.in(i, "AllReduce", 12);
  job.in(3, "AllReduce", 11);
  job.own(0).relayed = {
      {PeersFabric::proc_of(3), 9000, {{true, 7, EndState::kAwaitsRoom, 9000, {}}}}};
  job.own(0).inside = true;
  job.own(0).alone = false;
  job.run(4000);
  CHECK(job.claim(2).kind == Kind::kIdle);
  CHECK(job.claim(2).who.rank == 3);
}

TEST_CASE("who waits in the bootstrap is named where it was given less, and nobody else is late") {
  PeersFabric job(4);
  for (std::size_t i = 0; i < 3; ++i) job.waits(i, i + 1);
  for (std::size_t i = 0; i < 3; ++i) job.in(i, "AllReduce", 12);
  job.own(3).state.moves = true;
  job.own(3).meets_ms = 9000;
  SECTION("in another collective, say") {
    job.in(3, "AllReduce", 11);
    job.own(3).state.in = {};
    REQUIRE(job.until_agreed(Kind::kMeets, 3, 4000));
  }
  SECTION("what it waits for may be what keeps the others too") {
    job.in(3, "AllReduce", 12);
    job.own(3).state.in = {};
    job.run(4000);
    for (std::size_t i = 0; i < 4; ++i) CHECK(job.claim(i).kind == Kind::kNone);
  }
  SECTION("not for long") {
    job.in(3, "AllReduce", 11);
    job.own(3).meets_ms = 300;
    job.run(4000);
    for (std::size_t i = 0; i < 4; ++i) CHECK(job.claim(i).kind == Kind::kNone);
  }
}

TEST_CASE("a process whose sibling waits over the network is not called idle") {
  PeersFabric job(3);  // 0 and 1 are of one node; 0 waits for 1, which nothing shows
  job.waits(2, 0);
  job.waits(1, 2, EndState::kOwn);
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}, std::size_t{2}})
    job.in(i, "AllReduce", 12);
  job.own(0).inside = true;
  job.own(0).siblings = {{PeersFabric::proc_of(1), true}};
  job.own(0).alone = false;
  job.run(4000);
  CHECK(job.claim(0).kind == Kind::kNone);
  CHECK(job.claim(2).kind == Kind::kNone);
}

TEST_CASE("what one end has sent and the other waits for was lost between them") {
  using nnd::peers::Moved;
  // The third: a send that was larger than its receive; the fourth: two sends in one receive.
  for (const Moved& come : {Moved{true, 1, 4096}, Moved{true, 2, 8192}, Moved{true, 2, 4096},
                            Moved{true, 1, 8192}, Moved{}}) {
    const bool lost = come.known && come.requests == 1 && come.bytes == 4096;
    PeersFabric job(3);  // 2 waits for 1, and 1 for 0, which has sent what it had
    job.waits(1, 0, EndState::kAwaitsData, 9000, false, 4);
    job.waits(2, 1);
    job.own(1).edges[0].links[0].moved = come;
    job.own(0).quiet[PeersFabric::proc_of(1)] = {
        {true, 4, EndState::kQuiet, 9000, {true, 2, 8192}}};
    job.run(3000);
    for (std::size_t i = 1; i < 3; ++i) {
      const auto said = job.claim(i);
      CHECK(said.kind == (lost ? Kind::kPair : Kind::kIdle));
      CHECK(said.other.known() == lost);
    }
  }
}

TEST_CASE("links of the same number to other processes are not those") {
  PeersFabric job(3);
  job.waits(1, 0, EndState::kAwaitsData, 9000, true, 4);
  job.waits(0, 2, EndState::kStuck, 9000, false, 4);
  job.alive(2) = Alive::kStopped;
  job.run(3000);
  CHECK(job.claim(1).kind != Kind::kPair);
}

TEST_CASE("who ended while it waited for another one is not the root") {
  PeersFabric job(8);
  ring_without(job, 8, 2);
  job.meet_all();
  REQUIRE(job.until_agreed(Kind::kIdle, 2, 3000));
  job.alive(5) = Alive::kEnded;  // by its watchdog
  job.run(5000);
  for (std::size_t i = 0; i < 8; ++i) {
    if (i == 5) continue;
    CHECK(job.claim(i).kind == Kind::kIdle);
    CHECK(job.claim(i).who.rank == 2);
  }
}

TEST_CASE("a failure between two that live names both, and goes before an end") {
  constexpr auto kPairFailure = static_cast<std::uint16_t>(nccl_net_diag::Cause::kWc12) + 1;
  for (const bool alive : {true, false}) {
    PeersFabric job(6);
    ring_without(job, 6, 3);
    job.meet_all();
    if (!alive) job.alive(4) = Alive::kEnded;
    job.run(100);
    // 3 has failed with 4, and ends; then 4 does.
    job.own(3).failed = {kPairFailure, {}, 0, PeersFabric::proc_of(4)};
    job.run(1500);
    job.alive(3) = Alive::kEnded;
    job.alive(4) = Alive::kEnded;
    job.run(3000);
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}, std::size_t{2}}) {
      const auto said = job.claim(i);
      if (!alive) {
        CHECK_FALSE(said.other.known());
        continue;
      }
      CHECK(said.kind == Kind::kFailed);
      CHECK(said.who.rank == 3);
      CHECK(said.other.rank == 4);
    }
  }
}

TEST_CASE("a ring of releases that tell of no calls is told where each is alone on its node") {
  for (const bool alone : {true, false}) {
    PeersFabric job(5);
    for (std::size_t i = 0; i < 5; ++i) job.waits(i, (i + 1) % 5);
    job.own(3).alone = alone;
    job.run(4000);
    for (std::size_t i = 0; i < 5; ++i)
      CHECK(job.claim(i).kind == (alone ? Kind::kCycle : Kind::kNone));
  }
}

TEST_CASE("who waits for one that has not come hears what those that it has met know") {
  constexpr auto kPairFailure = static_cast<std::uint16_t>(nccl_net_diag::Cause::kSubRail) + 1;
  constexpr auto kEcho = static_cast<std::uint16_t>(nccl_net_diag::Cause::kRc6) + 1;
  PeersFabric job(4);  // 3 waits for 2, which has failed with 1 and never came; 0 saw 1 go
  job.meet_all();
  job.own(3).waits_ms = 0;
  job.run(100);
  job.own(1).failed = {kPairFailure, {}, 0, PeersFabric::proc_of(2)};
  job.own(2).failed = {kPairFailure, {}, 0, PeersFabric::proc_of(1)};
  job.run(1100);
  job.alive(1) = job.alive(2) = Alive::kEnded;
  job.own(0).failed = {kEcho, {}, 0, PeersFabric::proc_of(1)};
  job.run(1100);
  job.alive(0) = Alive::kEnded;
  job.run(5000);
  job.own(3).waits_ms = 9000;
  job.run(3000);
  const auto said = job.claim(3);
  CHECK(said.kind == Kind::kFailed);
  CHECK(said.cause == kPairFailure);
  CHECK((said.who.rank == 1 || said.who.rank == 2));
}

TEST_CASE("who was given what the others wait in is not called late where its node may keep it") {
  PeersFabric job(3);  // 0 is one of several of its node
  job.waits(1, 0);
  job.waits(2, 1);
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}, std::size_t{2}})
    job.in(i, "AllReduce", 12);
  job.own(0).alone = false;
  job.run(4000);
  CHECK(job.claim(2).kind == Kind::kNone);
  job.in(0, "AllReduce", 11);
  REQUIRE(job.until_agreed(Kind::kIdle, 0, 3000));
}

TEST_CASE("what an HCA does not complete towards a connection that is closed is no pair's") {
  for (const bool open : {true, false}) {
    PeersFabric job(2);
    job.waits(1, 0, EndState::kStuck, 9000, false, 4);
    if (open) job.own(0).quiet[PeersFabric::proc_of(1)] = {{true, 4, EndState::kQuiet, 9000, {}}};
    job.run(3000);
    CHECK(job.claim(1).kind == (open ? Kind::kPair : Kind::kIdle));
  }
}

TEST_CASE("who waited itself when it ended is not named for its end") {
  PeersFabric job(4);  // 2 waits for one that nobody can ask
  job.waits(0, 1);
  job.waits(1, 2);
  job.waits(2, 3);
  job.alive(3) = Alive::kStopped;
  job.run(2000);
  job.alive(2) = Alive::kEnded;
  job.run(3000);
  CHECK(job.claim(0).kind == Kind::kNone);
  CHECK(job.claim(1).kind == Kind::kNone);
}

TEST_CASE("a port that went down is known of who ended afterwards") {
  PeersFabric job(4);
  job.meet_all();
  job.own(1).port_down = {1, {}, 0, 0};
  job.own(1).port_down.place = "mlx5_2:1";
  job.run(2100);
  CHECK(job.claim(2).kind == Kind::kNone);  // nothing waits
  job.alive(1) = Alive::kEnded;
  job.run(6000);
  ring_without(job, 4, 1);
  REQUIRE(job.until_agreed(Kind::kPort, 1, 4000));
  CHECK(std::string_view(job.claim(0).place) == "mlx5_2:1");
}

TEST_CASE("the other end is named with what failed only where it may be the reason") {
  for (const auto cause : {nccl_net_diag::Cause::kLimNoFile, nccl_net_diag::Cause::kWc12}) {
    PeersFabric job(2);
    job.meet_all();
    job.waits(0, 1);
    job.own(1).failed = {static_cast<std::uint16_t>(static_cast<unsigned>(cause) + 1),
                         {},
                         0,
                         PeersFabric::proc_of(0)};
    job.run(3000);
    REQUIRE(job.claim(0).kind == Kind::kFailed);
    CHECK(job.claim(0).other.known() == (cause == nccl_net_diag::Cause::kWc12));
  }
}

TEST_CASE("who failed and then answers no more is named for its failure") {
  PeersFabric job(4);
  ring_without(job, 4, 1);
  job.own(1).failed = {1, {}, 12'000};
  REQUIRE(job.until_agreed(Kind::kFailed, 1, 4000));
  job.alive(1) = Alive::kStopped;  // as it aborts
  job.run(8000);
  CHECK(job.claim(0).kind == Kind::kFailed);
}

TEST_CASE("a port that is down is the root, and not who was ended because of it") {
  PeersFabric job(4);
  ring_without(job, 4, 2);
  job.own(2).port_down = {1, {}, 12'000};
  REQUIRE(job.until_agreed(Kind::kPort, 2, 3000));
  job.own(2).edges.clear();
  job.waits(2, 3);
  job.alive(3) = Alive::kEnded;  // by a launcher
  job.run(5000);
  CHECK(job.claim(2).kind == Kind::kPort);
  CHECK(job.claim(1).kind == Kind::kPort);
}

TEST_CASE("an attribute that doesn't fit yields to what is wrong at one end alone") {
  const auto failed = [](nccl_net_diag::Cause cause, std::uint64_t proc) {
    nnd::peers::Claim claim;
    claim.kind = Kind::kFailed;
    claim.who.proc = proc;
    claim.cause = static_cast<std::uint16_t>(static_cast<unsigned>(cause) + 1);
    return claim;
  };
  using nccl_net_diag::Cause;
  const auto invalid = failed(Cause::kQp22, 1), empty = failed(Cause::kQp61, 2);
  CHECK(goes_before(empty, invalid));
  CHECK_FALSE(goes_before(invalid, empty));
}

TEST_CASE("who answers the hello only after something has failed is told of it") {
  nnd::peers::Engine engine({});
  nnd::peers::LocalView own;
  own.state.who.proc = 1;
  own.failed.cause =
      static_cast<std::uint16_t>(static_cast<unsigned>(nccl_net_diag::Cause::kQp61) + 1);
  engine.look(own, 1000);
  engine.take_out();
  nnd::peers::Who who;
  who.proc = 2;
  engine.met(who, 1100);
  const auto out = engine.take_out();
  REQUIRE(out.size() == 1);
  CHECK(out[0].to == 2);
  CHECK(out[0].message.say.claim.kind == Kind::kFailed);
  who.proc = 3;
  engine.met(who, 9000);  // long after
  CHECK(engine.take_out().empty());
}
