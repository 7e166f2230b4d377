// Who is not to blame: it waits inside of its node, was done with all, or gave up what others
// waited for; and what boxes alone show of a hang.
#include "report/collectives.h"
#include "support/catch.h"
#include "unit/report/made.h"

using namespace nnd::report;
using nnd::report::test::lost;
using nnd::report::test::Made;
using nnd::report::test::ranks;
namespace t = nnd::report::test;

namespace {

constexpr const char* kAll = "0x1f";  // a communicator of all
constexpr const char* kNode = "0x2f";

// As its box tells: it was given so many collectives, the last of them over the network or not, and
// begun at that second.
void given(Made& made, int process, const std::string& comm, std::uint64_t collectives,
           std::uint64_t ops, double changed_sec, int rank, int nranks) {
  nnd::log::Communicator one;
  one.rank = rank;
  one.nranks = nranks;
  one.given = collectives;
  nnd::log::Task task;
  task.kind = "AllReduce";
  task.ordinal = collectives;
  task.ops = ops;
  task.changed_ns = static_cast<std::uint64_t>(changed_sec * 1e9);
  if (ops != 0) one.waits_in = task;
  one.tasks = {task};
  made.input.job.set_communicator(Made::proc(process), comm, one);
}

}  // namespace

TEST_CASE("who waits in a collective inside of its node is not late to another", "[collectives]") {
  Made made;  // two to a node
  made.ring(4);
  // Rank 0 waits for rank 3, which waits for rank 2, its neighbour, over shared memory.
  made.stall(0, "nothing-came", 30, 20, 3);
  given(made, 0, kAll, 7, 4, 10, 0, 2);
  given(made, 3, kAll, 6, 0, 9, 1, 2);
  given(made, 3, kNode, 9, 0, 10, 1, 2);
  const bool is_late = GENERATE(true, false);
  given(made, 2, kNode, is_late ? 8 : 9, 0, 10, 0, 2);
  for (const int i : {0, 1, 2, 3}) made.box(i, true, 40);
  const auto apart = apart_in_collectives(analyse(made.input).picture);
  for (const Apart& one : apart)
    CHECK(one.comm == (is_late ? std::string(kNode) : std::string(kAll)));
  CHECK((waits_by_collectives(analyse(made.input).picture).contains(3)) == is_late);
}

TEST_CASE("boxes that show who called less than all others tell of a hang", "[collectives]") {
  Made made;
  for (int i = 0; i < 4; ++i) made.load(i, 0, 4);
  const bool long_ago = GENERATE(true, false);
  const auto ops =
      GENERATE(std::uint64_t{0}, std::uint64_t{4});  // over shared memory, or the network
  for (int i = 0; i < 4; ++i) {
    given(made, i, kAll, i == 1 ? 40 : 41, i == 1 ? 0 : ops, long_ago ? 10 : 35, i, 4);
    made.box(i, false, 40, 60);
  }
  const auto report = analyse(made.input);
  CHECK((report.kind == Kind::kHang) == long_ago);
  if (!long_ago) return;
  CHECK(report.blame == Blame::kNotNetwork);
  REQUIRE_FALSE(report.waits.sinks.empty());
  CHECK(ranks(report.picture, report.waits.sinks[0].members) == std::vector{1});
}

TEST_CASE("who was done with all, and left, keeps nobody waiting", "[ends]") {
  Made made;
  made.ring(4);
  for (const int i : {0, 1, 2, 3}) {
    auto init = made.event(i, t::EventId::kCommInit, 0.5);
    init.comm = kAll;
    init.rank = i;
    init.nranks = 4;
    made.add(init);
    if (i % 2 != 0) t::close(made, i, 5, kAll, {{"AllReduce", 6}}, 6);
  }
  for (const int i : {1, 3}) t::leave(made, i, 6, 0, 0);
  const bool more = GENERATE(false, true);  // what the others called after that
  for (const int i : {0, 2}) given(made, i, kAll, more ? 7 : 6, 0, 5, i, 4);
  for (const int i : {0, 2}) made.box(i, false, i == 2 ? 20 : 30, 60);
  const auto report = analyse(made.input);
  if (more) {
    CHECK(lost(report) == std::vector{1, 3});
  } else {
    CHECK(lost(report) == std::vector{2});
    CHECK(report.ends[1].done);
  }
}

TEST_CASE("all that fail at one moment do so of one thing", "[ends]") {
  Made made;
  made.ring(3);
  const double spread = GENERATE(0.004, 0.4);
  for (const int i : {0, 1, 2}) {
    given(made, i, kAll, 6, 0, 5, i, 3);
    t::leave(made, i, 6 + spread * i, 0, 1);
  }
  const auto report = analyse(made.input);
  CHECK((lost(report).size() == 3) == (spread < 0.1));
  CHECK(report.ends[1].together == (spread < 0.1));
}

TEST_CASE("an exit status that is SIGTERM's number tells that all were asked", "[ends]") {
  constexpr int kBySigterm = 143;
  Made made;
  made.ring(3);
  const double later = GENERATE(1.0, 9.0);
  made.box(0, false, 6, 60);
  for (const int i : {1, 2}) t::leave(made, i, 6 + later, 0, kBySigterm);
  CHECK((analyse(made.input).kind == Kind::kEnded) == (later < 3));
}

TEST_CASE("a wait in a connection that was given up is over where others work after that",
          "[waits]") {
  Made made;
  made.ring(2);
  made.stall(0, "nothing-came", 12, 10, 1);
  made.close(1, 0, 13, 1);
  const bool anew = GENERATE(true, false);
  if (anew) {
    for (const auto id : {t::EventId::kConnOpen, t::EventId::kConnReady, t::EventId::kConnClose}) {
      auto out = made.of(1, 0, t::Direction::kRecv, id, id == t::EventId::kConnClose ? 20 : 15);
      out.conn = 90;
      out.completed = 7;
      out.in_flight = 0;
      made.add(out);
    }
  }
  CHECK(analyse(made.input).waits.waits.empty() == anew);
}

TEST_CASE("boxes that show all ranks in one collective, and for one it is another",
          "[collectives]") {
  Made made;
  made.ring(4);
  const auto at = [&](int process, const std::string& kind, std::uint64_t bytes) {
    nnd::log::Task task;
    task.kind = kind;
    task.ordinal = 14;
    task.bytes = bytes;
    task.ops = 2;
    task.changed_ns = 30 * t::kSec;
    nnd::log::Communicator one;
    one.rank = process;
    one.nranks = 4;
    one.tasks = {task};
    one.waits_in = task;
    made.input.job.set_communicator(Made::proc(process), kAll, one);
  };
  for (const int i : {0, 1, 3}) at(i, "AllReduce", 4096);
  SECTION("nobody had waited for long enough to tell") {
    at(2, "AllGather", 4096);
    const auto report = analyse(made.input);
    CHECK(report.kind == Kind::kHang);
    CHECK(report.blame == Blame::kNotNetwork);
    REQUIRE_FALSE(report.waits.sinks.empty());
    CHECK(report.waits.sinks[0].kind == Sink::Kind::kMismatched);
    CHECK(ranks(report.picture, report.waits.sinks[0].members) == std::vector{2});
  }
  SECTION("of a moment, sizes and a rank that tells of none show nothing") {
    if (GENERATE(false, true)) at(2, "AllReduce", 8192);
    CHECK(analyse(made.input).kind != Kind::kHang);
  }
}
