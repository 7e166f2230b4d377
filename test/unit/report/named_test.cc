// Whom a job waited for, as its processes told each other: what one log is enough for.
#include "report/named.h"

#include "support/catch.h"
#include "unit/report/made.h"

using namespace nnd::report;
using nnd::report::test::Made;
namespace t = nnd::report::test;

namespace {

void name(Made& made, int process, double sec, const std::string& kind, int guilty) {
  auto out = made.event(process, t::EventId::kJobStall, sec);
  out.severity = kind == "idle" ? t::Severity::kInfo : t::Severity::kWarn;
  out.cause = kind == "idle" ? "HANG-RANK" : "HANG-ENDED";
  out.fix = "Look at it.";
  out.age_us = 10e6;
  out.awaited.kind = kind;
  out.awaited.proc = Made::proc(guilty);
  out.awaited.host = Made::host(guilty);
  out.awaited.rank = guilty;
  out.awaited.pid = 100 + guilty;
  out.awaited.task.kind = "AllReduce";
  out.awaited.task.seq = 11;
  made.add(out);
}

}  // namespace

TEST_CASE("one log of many names whom its process waited for", "[named]") {
  Made made;
  made.load(0, 0, 4);
  made.connect(0, 3);
  name(made, 0, 12, "idle", 3);
  t::box(made, 0, 30, 0, 0);
  const auto report = analyse(made.input);
  REQUIRE(report.named);
  CHECK(report.kind == Kind::kHang);
  CHECK(report.blame == Blame::kNotNetwork);
  CHECK(report.named->awaited->rank == 3);
  CHECK(report.named->tellers == std::vector<std::size_t>{0});
}

TEST_CASE("what most say counts, and the last word of each", "[named]") {
  Made made;
  for (int i = 0; i < 3; ++i) made.load(i, 0, 8);
  name(made, 0, 12, "idle", 5);
  for (int i = 0; i < 2; ++i) name(made, i, 14 + i, "ended", 6);
  name(made, 2, 13, "idle", 5);
  const auto report = analyse(made.input);
  REQUIRE(report.named);
  CHECK(report.named->awaited->rank == 6);
  CHECK(report.named->tellers.size() == 2);
  CHECK(report.blame == Blame::kOpen);
}

TEST_CASE("where something failed in what is here, that is told", "[named]") {
  Made made;
  made.load(0, 0, 4);
  made.connect(0, 3);
  made.fail(0, 3, "WC-12", 11);
  name(made, 0, 12, "ended", 3);
  CHECK_FALSE(analyse(made.input).named);
}

TEST_CASE("a job of which nobody tells that is as it was", "[named]") {
  Made made;
  made.load(0, 0, 4);
  CHECK_FALSE(analyse(made.input).named);
}

TEST_CASE("who has come in the end is not named", "[named]") {
  for (const int status : {0, 1}) {
    Made made;  // a slow rank, whose log is not here
    made.load(0, 0, 4);
    made.connect(0, 3);
    name(made, 0, 12, "idle", 3);
    t::leave(made, 0, 14, 0, status);
    CHECK(analyse(made.input).named.has_value() == (status != 0));
  }
  Made made;
  made.load(0, 0, 4);
  made.connect(0, 3);
  name(made, 0, 12, "idle", 3);
  made.add(made.event(0, t::EventId::kConnResume, 13));
  t::box(made, 0, 30, 0, 0);
  CHECK_FALSE(analyse(made.input).named);
}
