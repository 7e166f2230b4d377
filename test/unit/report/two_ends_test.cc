// What both ends of a connection say, where only the network explains it.
#include "report/jobs.h"
#include "support/catch.h"
#include "unit/report/made.h"

using namespace nnd::report;
using nnd::report::test::Made;
namespace t = nnd::report::test;

namespace {

// Both send to each other over two connections each; a line tells of both.
struct Pair {
  Pair() {
    for (const int process : {0, 2}) made.load(process, 0, 2);
    made.connect(0, 2);
    made.connect(2, 0);
  }
  void waits(int process, const char* kind, double sec, double age_sec,
             std::uint64_t in_flight = 0) {
    const int peer = 2 - process;
    const bool sends = std::string_view(kind) == "no-receive";
    auto out =
        made.of(sends ? process : peer, sends ? peer : process,
                sends ? t::Direction::kSend : t::Direction::kRecv, t::EventId::kConnStall, sec);
    out.kind = kind;
    out.age_us = age_sec * 1e6;
    out.in_flight = in_flight;
    out.peers = 1;
    made.add(out);
  }
  Report report() {
    for (const int process : {0, 2}) made.box(process, true, 39);
    return analyse(made.input);
  }
  Made made;
};

}  // namespace

TEST_CASE("posted receives of which the sender is not told are lost on the way", "[ends]") {
  Pair pair;
  pair.waits(0, "nothing-came", 7, 2);
  SECTION("and the sender has waited for one as long") {
    pair.waits(2, "no-receive", 7, 2);
    const auto report = pair.report();
    CHECK(report.kind == Kind::kHang);
    CHECK(report.blame == Blame::kNetwork);
    REQUIRE(report.waits.network.size() == 2);
    CHECK(report.waits.network[0].lost);
  }
  SECTION("but not where the sender has sent its part") {
    pair.waits(2, "no-receive", 7, 2, 1);
    CHECK(pair.report().blame != Blame::kNetwork);
  }
  SECTION("nor where it told of it before there was a receive, and was stopped") {
    pair.waits(2, "no-receive", 4, 2);
    CHECK(pair.report().blame != Blame::kNetwork);
  }
  SECTION("nor where the sender waits for a receive itself") {
    pair.waits(2, "nothing-came", 7, 2);
    CHECK(pair.report().blame != Blame::kNetwork);
  }
}
