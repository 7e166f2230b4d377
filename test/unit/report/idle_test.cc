// Who asks the network for nothing, and who waits for that one.
#include "report/report.h"
#include "support/catch.h"
#include "unit/report/made.h"

using namespace nnd::report;
using nnd::report::test::box;
using nnd::report::test::leave;
using nnd::report::test::lost;
using nnd::report::test::Made;
using nnd::report::test::ranks;
namespace t = nnd::report::test;

TEST_CASE("who polls a connection no more waits for nobody", "[ends]") {
  Made made;
  made.ring(4);
  made.add(made.of(0, 3, t::Direction::kSend, t::EventId::kConnOpen, 1));
  made.stall(0, "not-polled", 12, 11, 3, t::Direction::kSend);
  for (int i = 0; i < 4; ++i) made.close(i, (i + 1) % 4, 20);
  made.end(3, 20.1);
  for (int i = 0; i < 3; ++i) made.end(i, 21);
  const Report report = analyse(made.input);
  CHECK(report.kind == Kind::kHealthy);
  CHECK(report.blame == Blame::kNone);
}

TEST_CASE("a process whose NCCL asks no more keeps the others, whatever it had begun", "[ends]") {
  Made made;
  made.ring(6);
  made.stall(1, "nothing-came", 7, 2, 0);
  made.stall(2, "nothing-came", 7, 2, 1);
  made.stall(3, "not-asked", 7, 2, 2);
  made.stall(4, "nothing-came", 7, 2, 3);
  const auto report = analyse(made.input);
  CHECK(report.kind == Kind::kHang);
  CHECK(report.blame == Blame::kNotNetwork);
  REQUIRE_FALSE(report.waits.sinks.empty());
  CHECK(report.waits.sinks[0].kind == Sink::Kind::kIdle);
  CHECK(report.waits.sinks[0].unasked);
  CHECK(ranks(report.picture, report.waits.sinks[0].members) == std::vector{3});
}

TEST_CASE("a box shows that a process asked the network for nothing", "[ends]") {
  Made made;
  for (const int process : {0, 2}) made.load(process, 0, 2);
  made.connect(0, 2);
  made.connect(2, 0);
  made.stall(0, "nothing-came", 7, 2, 2);
  box(made, 0, 9, 5, 4);
  SECTION("of its node's only process") {
    box(made, 2, 9, 4.5, 0);
    const auto report = analyse(made.input);
    CHECK(report.kind == Kind::kHang);
    CHECK(report.blame == Blame::kNotNetwork);
    REQUIRE_FALSE(report.waits.sinks.empty());
    CHECK(report.waits.sinks[0].kind == Sink::Kind::kIdle);
    CHECK(ranks(report.picture, report.waits.sinks[0].members) == std::vector{2});
  }
  SECTION("and of a neighbour of it: one of them is late") {
    made.load(3, 0, 2);
    box(made, 2, 9, 4.5, 0);
    box(made, 3, 9, 4.5, 0);
    const auto report = analyse(made.input);
    REQUIRE_FALSE(report.waits.sinks.empty());
    CHECK(report.waits.sinks[0].kind == Sink::Kind::kIdle);
    CHECK(ranks(report.picture, report.waits.sinks[0].members) == std::vector{2, 3});
  }
  SECTION("which is nothing where its log is cut off, and may have told of a wait") {
    box(made, 2, 9, 4.5, 0);
    made.input.job.cut_off(Made::proc(2));
    const auto report = analyse(made.input);
    REQUIRE_FALSE(report.waits.sinks.empty());
    CHECK(report.waits.sinks[0].kind == Sink::Kind::kSilent);
  }
  SECTION("which is nothing where it tells that it waits for ranks to come") {
    box(made, 2, 9, 4.5, 0);
    auto making = made.event(2, t::EventId::kInitStall, 8.9);
    making.step = "accept";
    making.age_us = 4e6;
    made.add(making);
    const auto report = analyse(made.input);
    CHECK(report.kind == Kind::kHang);
    CHECK(report.waits.sinks.empty());
  }
  SECTION("which is nothing where it had asked for something") {
    box(made, 2, 9, 4.5, 1);
    const auto report = analyse(made.input);
    REQUIRE_FALSE(report.waits.sinks.empty());
    CHECK(report.waits.sinks[0].kind == Sink::Kind::kSilent);
  }
}

TEST_CASE("who had nothing to do before anybody needed it was not late by then", "[ends]") {
  const auto job = [](double exit_sec) {
    Made made;
    for (const int process : {0, 2, 4}) made.load(process, 0, 3);
    for (const int process : {0, 2, 4}) made.connect(process, (process + 2) % 6);
    made.stall(0, "nothing-came", 20, 10, 4);  // since 10
    box(made, 4, 22, 5, 0);
    box(made, 0, 22, 10, 1);
    leave(made, 2, exit_sec, 0, 1);
    return analyse(made.input);
  };
  const auto exit = job(8);
  CHECK(exit.kind == Kind::kLost);
  CHECK(lost(exit) == std::vector{2});
  CHECK(job(14).kind == Kind::kHang);
}

TEST_CASE("who is idle beside a rank whose log is not here may wait for that one", "[ends]") {
  Made made;
  for (const int process : {0, 2}) made.load(process, 0, 3);
  made.connect(0, 2);
  made.connect(2, 0);
  made.stall(0, "nothing-came", 7, 2, 2);
  box(made, 0, 9, 5, 4);
  box(made, 2, 9, 4.5, 0);
  SECTION("at all") {}
  SECTION("or not whole") {
    for (const int process : {1, 3}) {
      made.load(process, 0, 3);
      made.input.job.cut_off(Made::proc(process));
    }
  }
  const auto report = analyse(made.input);
  REQUIRE_FALSE(report.waits.sinks.empty());
  CHECK(report.waits.sinks[0].kind == Sink::Kind::kIdle);
  CHECK(report.blame == Blame::kOpen);
}

TEST_CASE("who is idle beside one that waits for a process without a log may wait for that one",
          "[ends]") {
  Made made;
  for (const int process : {0, 2, 3}) made.load(process, 0, 5);
  made.connect(0, 2);
  made.connect(2, 0);
  made.stall(0, "nothing-came", 7, 2, 2);
  if (GENERATE(false, true)) {
    made.stall(3, "nothing-came", 7, 2, 4);
    const auto sinks = analyse(made.input).waits.sinks;
    REQUIRE_FALSE(sinks.empty());
    CHECK(sinks[0].kind == Sink::Kind::kNoLog);
  } else {
    box(made, 2, 9, 4.5, 0);
    const auto report = analyse(made.input);
    REQUIRE_FALSE(report.waits.sinks.empty());
    CHECK(report.waits.sinks[0].kind == Sink::Kind::kIdle);
  }
}

TEST_CASE("who was killed long after others had told of their wait did not cause it", "[ends]") {
  Made made;
  for (const int process : {0, 2, 4}) made.load(process, 0, 3);
  for (const int process : {0, 2, 4}) made.connect(process, (process + 2) % 6);
  made.stall(0, "nothing-came", 5, 2, 4);
  box(made, 0, 14, 3, 4);
  box(made, 4, 11, 2.5, 0);  // a watchdog's, the first
  box(made, 2, 14, 2.5, 1);
  const auto report = analyse(made.input);
  CHECK(report.kind == Kind::kHang);
  REQUIRE_FALSE(report.waits.sinks.empty());
  CHECK(report.waits.sinks[0].kind == Sink::Kind::kIdle);
  CHECK(ranks(report.picture, report.waits.sinks[0].members) == std::vector{4});
}

TEST_CASE("a wait that its process counts no more is over", "[waits]") {
  Made made;
  made.ring(2);
  made.stall(0, "not-accepted", 5, 5, 1, t::Direction::kSend);
  auto later = made.of(0, 1, t::Direction::kSend, t::EventId::kConnStall, 15);
  later.kind = "not-polled";
  later.conn = 99;  // that has waited longest of those
  later.age_us = 15e6;
  later.census = {{"moving", 0}, {"not-polled", 2}};
  SECTION("NCCL asks for it no more") {
    made.add(later);
    for (const int i : {0, 1}) made.end(i, 20);
    CHECK_FALSE(analyse(made.input).found_cause());
  }
  SECTION("it still waits") {
    later.census["not-accepted"] = 1;
    made.add(later);
    CHECK(analyse(made.input).kind == Kind::kHang);
  }
}

TEST_CASE("who is idle beside one that waits for another node may wait for that one", "[ends]") {
  // Two nodes of two processes: 1 and 3 ask the network for nothing.
  const auto job = [](bool mutual) {
    Made made;
    for (const int process : {0, 1, 2, 3}) made.load(process, 0, 4);
    for (const int process : {0, 1, 2, 3}) made.connect(process, (process + 2) % 4);
    made.connect(0, 3);
    made.connect(2, 1);
    made.stall(2, "nothing-came", 20, 10, 1, t::Direction::kSend);
    if (mutual) made.stall(0, "nothing-came", 20, 10, 3, t::Direction::kSend);
    for (const int process : {1, 3}) box(made, process, 22, 9, 0);
    for (const int process : {0, 2}) box(made, process, 22, 10, 1);
    return analyse(made.input);
  };
  const auto both = job(true);
  REQUIRE(both.waits.sinks.size() == 1);
  CHECK(ranks(both.picture, both.waits.sinks[0].members) == std::vector{1, 3});
  const auto one = job(false);
  REQUIRE_FALSE(one.waits.sinks.empty());
  CHECK(ranks(one.picture, one.waits.sinks[0].members) == std::vector{1});
}

TEST_CASE("who is idle where nobody else of its node waits goes before one that more wait for",
          "[ends]") {
  Made made;
  for (int process = 0; process < 6; ++process) made.load(process, 0, 6);
  for (const auto& [from, to] : {std::pair{2, 1}, {4, 3}, {5, 3}, {0, 5}}) {
    made.connect(from, to);
    if (from != 0) made.stall(from, "nothing-came", 20, 10, to, t::Direction::kSend);
  }
  for (const int process : {0, 1, 3}) box(made, process, 22, 9, 0);
  for (const int process : {2, 4, 5}) box(made, process, 22, 10, 1);
  const auto report = analyse(made.input);
  REQUIRE(report.waits.sinks.size() == 2);
  CHECK(ranks(report.picture, report.waits.sinks[0].members) == std::vector{0, 1});
  CHECK(ranks(report.picture, report.waits.sinks[1].members) == std::vector{3});
}

TEST_CASE("of several of a node that say nothing of a wait none is named alone", "[ends]") {
  Made made;
  for (int process = 0; process < 4; ++process) made.load(process, 0, 4);
  for (const int process : {0, 1}) {
    made.connect(process, process + 2);
    made.stall(process, "nothing-came", 20, 10, process + 2, t::Direction::kSend);
  }
  for (int process = 0; process < 4; ++process) box(made, process, 22, 10, 1);
  const auto report = analyse(made.input);
  REQUIRE(report.waits.sinks.size() == 1);
  CHECK(report.waits.sinks[0].kind == Sink::Kind::kSilent);
  CHECK(ranks(report.picture, report.waits.sinks[0].members) == std::vector{2, 3});
  CHECK(report.waits.sinks[0].waiting == 2);
  CHECK(report.blame == Blame::kOpen);
}

TEST_CASE("who is idle beside one that failed, for which others wait, is not the one", "[ends]") {
  const auto job = [](int status) {
    Made made;
    for (int process = 0; process < 4; ++process) made.load(process, 0, 4);
    for (const int process : {0, 1}) {
      made.connect(process, process + 2);
      made.stall(process, "nothing-came", 20, 10, process + 2, t::Direction::kSend);
      box(made, process, 22, 10, 1);
    }
    box(made, 2, 22, 9, 0);
    leave(made, 3, 14, 0, status);
    return analyse(made.input);
  };
  const auto failed = job(1);
  CHECK(failed.kind == Kind::kLost);
  CHECK(lost(failed) == std::vector{3});
  CHECK(job(0).kind == Kind::kHang);
}
