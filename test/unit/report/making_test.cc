// Communicators that were still being made: who has not come, and what keeps hosts apart.
#include <cerrno>

#include "report/jobs.h"
#include "support/catch.h"
#include "unit/report/made.h"

using namespace nnd::report;
using nnd::report::test::Made;
using nnd::report::test::ranks;
namespace t = nnd::report::test;

namespace {

void makes(Made& made, int process, double sec, const char* step, bool blocked = false,
           const char* comm = "") {
  auto out = made.event(process, t::EventId::kInitStall, sec);
  out.step = step;
  out.comm = comm;
  out.age_us = 10e6;
  out.cause = blocked ? "OOB-BLOCKED" : "INIT-STUCK";
  out.severity = blocked || sec > 30 ? t::Severity::kWarn : t::Severity::kInfo;
  out.msg = "What was seen.";
  made.add(out);
}

}  // namespace

TEST_CASE("two releases make no communicator, however long they try", "[making]") {
  Made made;
  const bool unlike = GENERATE(true, false), living = GENERATE(true, false);
  for (const int process : {0, 2}) {
    auto load = made.event(process, t::EventId::kPluginLoad, 0);
    load.launch.rank = process / 2;
    load.launch.world_size = 2;
    load.nccl_version = unlike && process == 2 ? "2.27.7" : "2.28.9";
    made.add(load);
    makes(made, process, 11, "ring");
    made.box(process, living, 39);
  }
  const auto report = analyse(made.input);
  CHECK(report.difference.has_value() == unlike);
  if (unlike) CHECK(report.blame == Blame::kNotNetwork);
}

TEST_CASE("a rank that makes no communicator has not come to that of the others", "[making]") {
  Made made;
  for (const int process : {0, 2}) {
    made.load(process, 0, 2);
    auto first = made.event(process, t::EventId::kCommInit, 0.5);  // that they have made
    first.comm = "0x1";
    first.rank = process / 2;
    first.nranks = 2;
    first.seq = 1;
    made.add(first);
  }
  makes(made, 0, GENERATE(11., 31.), "accept");
  SECTION("looked at live") {
    for (const int process : {0, 2}) made.box(process, true, 39);
  }
  SECTION("after all were killed") {
    made.box(0, false, 40);
    made.box(2, false, 42);
  }
  const auto report = analyse(made.input);
  CHECK(report.kind == Kind::kHang);
  CHECK(report.blame == Blame::kNotNetwork);
  REQUIRE(report.waits.sinks.size() == 1);
  CHECK(report.waits.sinks[0].kind == Sink::Kind::kNotCome);
  CHECK(ranks(report.picture, report.waits.sinks[0].members) == std::vector{1});
}

TEST_CASE("who lives on and waits for nobody has not come, also where its ranks had met",
          "[making]") {
  Made made;
  for (const int process : {0, 2}) {
    made.load(process, 0, 2);
    auto met = made.event(process, t::EventId::kCommInit, 0.5);
    met.comm = "0x1";
    met.nranks = 2;
    met.seq = 1;
    made.add(met);
  }
  makes(made, 0, 11, "accept", false, "0x1");
  SECTION("for long") {
    made.box(0, true, 39);
    made.box(2, true, 39);
    const auto sinks = analyse(made.input).waits.sinks;
    REQUIRE(sinks.size() == 1);
    CHECK(sinks[0].kind == Sink::Kind::kNotCome);
    CHECK(sinks[0].members.size() == 1);
  }
  SECTION("it does not run") {
    made.box(0, true, 39);
    made.box(2, true, 30);
    const auto report = analyse(made.input);
    REQUIRE(report.waits.sinks.size() == 1);
    CHECK(report.waits.sinks[0].kind == Sink::Kind::kStopped);
    CHECK(ranks(report.picture, report.waits.sinks[0].members) == std::vector{2});
    CHECK(report.blame == Blame::kNotNetwork);
  }
  SECTION("it may be about to tell that it waits, too") {
    made.box(0, true, 14);
    made.box(2, true, 14);
    CHECK(analyse(made.input).waits.sinks.empty());
  }
}

TEST_CASE("of two that tell of no wait who has just connected is on its way", "[making]") {
  Made made;
  for (const int process : {0, 2, 4, 6}) made.load(process, 0, 4);
  const bool just = GENERATE(false, true);
  made.connect(2, 6);
  made.connect(6, 0);
  made.connect(4, 0, just ? 9.5 : 2);
  makes(made, 0, 21, "accept");  // since 11
  makes(made, 6, 21, "accept");
  for (const int process : {0, 2, 4, 6}) made.box(process, true, 39);
  const auto report = analyse(made.input);
  REQUIRE(report.waits.sinks.size() == 1);
  CHECK(report.waits.sinks[0].kind == Sink::Kind::kNotCome);
  CHECK(ranks(report.picture, report.waits.sinks[0].members) ==
        (just ? std::vector{2} : std::vector{2, 4}));
}

TEST_CASE("what keeps the hosts apart outweighs ranks without a log", "[making]") {
  Made made;
  made.load(0, 0, 4);
  made.box(0, true, 39);
  makes(made, 0, 11, "root", true);
  const auto blocked = analyse(made.input);
  CHECK(blocked.kind == Kind::kHang);
  CHECK(blocked.blame == Blame::kNetwork);
  REQUIRE(blocked.stuck_making);

  Made plain;
  plain.load(0, 0, 4);
  plain.box(0, true, 39);
  makes(plain, 0, GENERATE(11., 31.), "gather");
  CHECK(analyse(plain.input).kind == Kind::kMissing);
}

TEST_CASE("who is refused may have been left by one that died", "[making]") {
  Made made;
  for (const int process : {0, 2}) made.load(process, 0, 2);
  auto told = made.event(0, t::EventId::kInitStall, 11);
  told.step = "connect";
  told.age_us = 10e6;
  told.cause = "OOB-BLOCKED";
  told.severity = t::Severity::kWarn;
  told.error = ECONNREFUSED;
  made.add(told);
  made.box(0, true, 39);
  const bool lives = GENERATE(true, false);
  if (lives) made.box(2, true, 39);
  const auto report = analyse(made.input);
  CHECK(report.kind == Kind::kHang);
  CHECK(report.blame == (lives ? Blame::kNetwork : Blame::kOpen));
}

TEST_CASE("a communicator that was made after all waits for nobody", "[making]") {
  Made made;
  made.load(0, 0, 1);
  made.box(0, true, 39);
  makes(made, 0, 11, "gather");
  made.add(made.event(0, t::EventId::kInitReady, 12));
  const auto report = analyse(made.input);
  CHECK_FALSE(report.stuck_making);
  CHECK_FALSE(report.found_cause());
}

TEST_CASE("watchdogs that end a communicator's making did not hinder it", "[making]") {
  Made made;
  for (const int process : {0, 2, 4}) made.load(process, 0, 3);
  makes(made, 0, 11, "gather");
  makes(made, 2, 11, "answer");
  makes(made, 4, 11, "answer");
  made.box(0, false, 15);
  made.box(2, false, 17);
  made.box(4, false, 20);
  const auto report = analyse(made.input);
  CHECK(report.kind == Kind::kHang);
  CHECK(report.blame == Blame::kOpen);
}
