// What shows by how much the hosts' clocks are apart.
#include "report/clocks.h"

#include "support/catch.h"
#include "unit/report/made.h"

using namespace nnd::report;
using nnd::report::test::Made;
namespace t = nnd::report::test;

TEST_CASE("a clock that is ahead is set back by what must come before what", "[clocks]") {
  Made made;
  made.ring(4);
  const auto move = [&](int from, int to, t::Direction dir, const char* state, double sec,
                        double ahead) {
    auto event = made.of(from, to, dir, t::EventId::kQpTransition, sec + ahead);
    event.qp.to = state;
    made.add(event);
  };
  // Process 1 is on host0 and sends to 2 on host1, whose clock is 5 s ahead.
  for (const double ahead : {5.0}) {
    move(1, 2, t::Direction::kRecv, "RTR", 2.0, ahead);
    move(1, 2, t::Direction::kSend, "RTR", 2.1, 0);
    move(1, 2, t::Direction::kSend, "RTS", 2.2, 0);
    auto ready = made.of(1, 2, t::Direction::kRecv, t::EventId::kConnReady, 2.3 + ahead);
    made.add(ready);
  }
  const auto picture = picture_of(made.input);
  REQUIRE(picture.hosts.size() == 2);
  CHECK(picture.hosts[0].ahead == 0);
  CHECK(picture.hosts[1].ahead >= 4'900'000'000);
  CHECK(picture.hosts[1].ahead <= 5'100'000'000);
  CHECK(picture.hosts[1].uncertain <= 100'000'001);
}

TEST_CASE("ranks that meet show what their hosts' clocks are", "[clocks]") {
  const auto job = [](double begun, double met, double ahead, bool other_comm = false) {
    Made made;
    for (int i = 0; i < 4; ++i) {
      made.load(i);
      const double off = i < 2 ? 0 : ahead;
      auto init = made.event(i, t::EventId::kCommInit, begun + 0.01 * i + off);
      init.net_api = 11;
      made.add(init);
      made.add(made.event(i, t::EventId::kInitReady, met + 0.01 * i + off));
      auto named = made.event(i, t::EventId::kCommInit, met + 1 + off);
      named.comm = other_comm && i >= 2 ? "0xb" : "0xa";
      made.add(named);
    }
    return picture_of(made.input);
  };
  SECTION("nobody has met the others before all have begun") {
    const auto picture = job(2, 2.4, 5);
    CHECK(picture.hosts[1].ahead >= 4'600'000'000);
    CHECK(picture.hosts[1].ahead <= 5'400'000'000);
    CHECK(clocks_apart(picture, 0, 2) <= 400'000'000);
  }
  SECTION("and they hear of it in one moment, where clocks agree") {
    const auto picture = job(2, 20, 0);
    CHECK(picture.hosts[1].ahead == 0);
    CHECK(clocks_apart(picture, 0, 2) <= 150'000'000);
  }
  SECTION("of two communicators nothing is known") {
    CHECK(clocks_apart(job(2, 2.4, 5, true), 0, 2) == kUncompared);
  }
}
