#include "report/flights.h"

#include "support/catch.h"

using namespace nnd::report;
using namespace nnd::foreign;

namespace {

FlightCall call(std::int64_t seq, const std::string& state, const std::string& what = "all_reduce",
                const std::string& sizes = "[8] Float") {
  return {seq, what, state, sizes, "train.py:" + std::to_string(seq) + " in step"};
}

// Given `last` collectives, of which all up to `done` have ended.
FlightDump dump(int rank, std::int64_t done, std::int64_t last) {
  FlightDump out;
  out.rank = rank;
  out.first_ns = 100;
  out.last_ns = 200;
  auto& group = out.groups.emplace_back();
  group.name = "0";
  group.description = "default_pg";
  group.ranks = {0, 1, 2, 3};
  for (auto seq = done + 1; seq <= last; ++seq) group.unfinished.push_back(call(seq, "scheduled"));
  group.last = call(last, done == last ? "completed" : "scheduled");
  return out;
}

}  // namespace

TEST_CASE("nobody waits", "[flights]") {
  CHECK_FALSE(flight_of({}));
  CHECK_FALSE(flight_of({dump(0, 5, 5), dump(1, 5, 5)}));
}

TEST_CASE("a rank that has not called what the others wait in", "[flights]") {
  const auto flight = flight_of({dump(0, 5, 6), dump(1, 5, 9), dump(2, 5, 5), dump(3, 5, 6)});
  REQUIRE(flight);
  CHECK(flight->kind == Flight::Kind::kBehind);
  CHECK(flight->network_cleared());
  CHECK(flight->guilty == std::vector<int>{2});
  CHECK(flight->waiting == std::vector<int>{0, 1, 3});
  CHECK(flight->call.seq == 6);
  CHECK(flight->group == "default_pg");
  REQUIRE(flight->other);
  CHECK(flight->other->place == "train.py:5 in step");
}

TEST_CASE("a rank that is less far ahead is not behind", "[flights]") {
  const auto flight = flight_of({dump(0, 5, 99), dump(1, 5, 99), dump(2, 5, 50), dump(3, 5, 99)});
  REQUIRE(flight);
  CHECK(flight->kind == Flight::Kind::kAllIn);
  CHECK_FALSE(flight->network_cleared());
  CHECK(flight->call.seq == 6);
  CHECK(flight->guilty == std::vector<int>{2});  // it may be why, and isn't accused
  CHECK(flight->other->seq == 50);
  CHECK(flight_of({dump(0, 5, 6), dump(1, 5, 6), dump(2, 5, 6), dump(3, 5, 6)})->guilty.empty());
}

TEST_CASE("a rank without a dump is not accused", "[flights]") {
  const auto flight = flight_of({dump(0, 5, 6), dump(1, 5, 6), dump(3, 5, 6)});
  REQUIRE(flight);
  CHECK(flight->kind == Flight::Kind::kNoDump);
  CHECK(flight->guilty == std::vector<int>{2});
  CHECK_FALSE(flight->network_cleared());
}

TEST_CASE("what only watchdogs print accuses nobody who printed nothing", "[flights]") {
  std::vector<FlightDump> dumps{dump(0, 5, 6), dump(1, 5, 6), dump(2, 5, 6)};
  for (auto& one : dumps) {
    one.by_watchdog = true;
    one.groups[0].ranks.clear();
    for (auto& call : one.groups[0].unfinished)
      if (one.rank != 1) call.what.clear();  // only the first to time out says what it was
  }
  const auto flight = flight_of(dumps);
  REQUIRE(flight);
  CHECK(flight->by_watchdog);
  CHECK(flight->kind == Flight::Kind::kAllIn);
  CHECK(flight->call.what == "all_reduce");
  CHECK(flight->guilty.empty());
}

TEST_CASE("a dump of an earlier run counts as none", "[flights]") {
  auto old = dump(2, 2, 3);
  old.first_ns = 10;
  old.last_ns = 20;
  const auto flight = flight_of({dump(0, 5, 6), dump(1, 5, 6), old, dump(3, 5, 6)});
  REQUIRE(flight);
  CHECK(flight->kind == Flight::Kind::kNoDump);
}

TEST_CASE("one rank calls another collective, or another size", "[flights]") {
  auto other = dump(2, 5, 6);
  other.groups[0].unfinished[0] = call(6, "started", "all_gather");
  auto flight = flight_of({dump(0, 5, 6), dump(1, 5, 6), other, dump(3, 5, 6)});
  REQUIRE(flight);
  CHECK(flight->kind == Flight::Kind::kMismatched);
  CHECK(flight->guilty == std::vector<int>{2});
  CHECK(flight->other->what == "all_gather");
  other.groups[0].unfinished[0] = call(6, "started", "all_reduce", "[9] Float");
  flight = flight_of({dump(0, 5, 6), dump(1, 5, 6), other, dump(3, 5, 6)});
  CHECK(flight->kind == Flight::Kind::kMismatched);
}

TEST_CASE("who is behind in one group since it waits in another is not the first", "[flights]") {
  auto held = dump(2, 5, 5);
  auto& pairs = held.groups.emplace_back(held.groups.front());
  pairs.name = "pairs";
  pairs.description = "pairs";
  pairs.ranks = {2, 9};
  pairs.unfinished = {call(4, "started")};
  pairs.last = pairs.unfinished.front();
  auto late = dump(9, 3, 3);
  late.groups[0].name = late.groups[0].description = "pairs";
  late.groups[0].ranks = {2, 9};
  const auto flight = flight_of({dump(0, 5, 6), dump(1, 5, 6), held, dump(3, 5, 6), late});
  REQUIRE(flight);
  CHECK(flight->group == "pairs");
  CHECK(flight->guilty == std::vector<int>{9});
}
