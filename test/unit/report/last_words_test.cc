// Who gave up waiting, or left no word: whom the others waited for.
#include "report/jobs.h"
#include "support/catch.h"
#include "unit/report/made.h"

using namespace nnd::report;
using nnd::report::test::Made;
using nnd::report::test::ranks;

TEST_CASE("who gave up its connections and died did so for what others waited for", "[ends]") {
  Made made;
  made.ring(4);
  made.connect(2, 1);
  made.stall(1, "nothing-came", 15, 10, 2);
  made.stall(2, "nothing-came", 15, 10, 1);
  for (int i = 0; i < 4; ++i) made.box(i, false, i == 3 ? 26 : 26.6);
  SECTION("it closed them") {
    made.close(3, 0, 25.9);
    const auto report = analyse(made.input);
    CHECK(report.kind == Kind::kHang);
    REQUIRE_FALSE(report.waits.sinks.empty());
    CHECK(report.waits.sinks[0].kind == Sink::Kind::kCycle);
  }
  SECTION("it just died") { CHECK(analyse(made.input).kind == Kind::kLost); }
}

TEST_CASE("the only log without last words is of whom the others waited for", "[ends]") {
  Made made;
  made.ring(4);
  for (const int i : {1, 2}) made.stall(i, "nothing-came", 15, 10, i - 1);
  made.end(0, 21);
  made.end(1, 20);
  SECTION("all others have some") {
    made.end(2, 20);
    const auto report = analyse(made.input);
    CHECK(report.kind == Kind::kHang);
    REQUIRE(report.waits.sinks.size() == 1);
    CHECK(report.waits.sinks[0].kind == Sink::Kind::kSilent);
    CHECK(report.waits.sinks[0].waiting == 2);
    CHECK(ranks(report.picture, report.waits.sinks[0].members) == std::vector{3});
  }
  SECTION("another has none, either") {
    const auto report = analyse(made.input);
    REQUIRE(report.waits.sinks.size() == 1);
    CHECK(ranks(report.picture, report.waits.sinks[0].members) != std::vector{3});
  }
}
