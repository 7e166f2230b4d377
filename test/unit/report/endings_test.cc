// How jobs end, and whom that is laid to: who began it, and nobody who was ended for it.
#include "report/ends.h"
#include "support/catch.h"
#include "unit/report/made.h"

using namespace nnd::report;
using nnd::report::test::box;
using nnd::report::test::leave;
using nnd::report::test::lost;
using nnd::report::test::Made;
using nnd::report::test::ranks;
namespace t = nnd::report::test;

TEST_CASE("who ended by itself in the middle is missed by those who were asked to end after it",
          "[ends]") {
  Made made;
  made.ring(4);
  leave(made, 2, 5, 0);
  for (const int other : {0, 1, 3}) leave(made, other, 5.6 + 0.01 * other, 4);
  const auto report = analyse(made.input);
  CHECK(report.kind == Kind::kLost);
  CHECK(report.blame == Blame::kNotNetwork);
  CHECK(lost(report) == std::vector{2});
}

TEST_CASE("who ended with a status that tells of a failure began it, whatever the others did",
          "[ends]") {
  Made made;
  made.ring(4);
  leave(made, 1, 5, 2, 1);
  for (const int other : {0, 2, 3}) leave(made, other, 6, 0, 0);
  const auto report = analyse(made.input);
  CHECK(report.kind == Kind::kLost);
  CHECK(lost(report) == std::vector{1});
}

TEST_CASE("a status that tells of a failure is told though nobody was missed", "[ends]") {
  Made made;
  for (const int process : {0, 2}) made.load(process, 0, 2);
  const auto end = [&made](int process, int status) {
    auto out = made.event(process, t::EventId::kSummary, 20);
    out.exit_status = status;
    made.add(out);
  };
  SECTION("of one process") {
    end(0, 0);
    end(2, 1);
    CHECK(lost(analyse(made.input)) == std::vector{2});
  }
  SECTION("of all") {
    for (const int process : {0, 2}) end(process, 1);
    CHECK(lost(analyse(made.input)) == std::vector{0, 2});
  }
  SECTION("of none") {
    for (const int process : {0, 2}) end(process, 0);
    CHECK(analyse(made.input).kind == Kind::kHealthy);
    return;
  }
  const auto report = analyse(made.input);
  CHECK(report.kind == Kind::kLost);
  CHECK(report.blame == Blame::kNotNetwork);
}

TEST_CASE("who failed with requests under way is told, and nobody is acquitted of that", "[ends]") {
  Made made;
  made.load(0, 0, 2);
  made.connect(0, 1);
  leave(made, 0, 5, 2, 1);
  const auto report = analyse(made.input);
  CHECK(report.kind == Kind::kLost);
  CHECK(lost(report) == std::vector{0});
  CHECK(report.blame == Blame::kOpen);
}

TEST_CASE("who is killed in the very moment of a failed exit followed it", "[ends]") {
  const auto job = [](int status, std::uint64_t pending = 0, double rest = 6) {
    Made made;
    made.ring(4);
    leave(made, 3, 5.003, pending, status);
    for (const int other : {0, 1, 2}) box(made, other, other == 2 ? 5 : rest, 4.9, 1);
    return analyse(made.input);
  };
  CHECK(lost(job(3)) == std::vector{3});
  CHECK(lost(job(128 + 15)) == std::vector{2});
  CHECK(lost(job(3, 1)) == std::vector{2});     // which had requests under way itself
  CHECK(lost(job(3, 0, 9)) == std::vector{2});  // no launcher ended the others
}

// torchelastic ends the others of its node at once, and those of other nodes seconds later.
TEST_CASE("who still lived as its neighbour exited is not what that one exited for", "[ends]") {
  Made made;
  made.ring(4);
  leave(made, 1, 20, 0, 3);
  box(made, 0, 20.07, 19.9, 1);
  for (const int other : {2, 3}) box(made, other, 26, 19.9, 1);
  CHECK(lost(analyse(made.input)).front() == 1);
}

TEST_CASE("who was first to fail is told by its time, if it waited for nothing", "[ends]") {
  const auto job = [](double oldest_sec) {
    Made made;
    made.load(0);
    made.load(2);
    made.connect(0, 2);
    made.close(0, 2, 4.9);
    for (const int other : {0, 2}) {
      auto out = made.event(other, t::EventId::kSummary, other == 2 ? 5 : 5.4);
      out.started = 11;
      out.completed = other == 2 ? 10u : 11u;
      if (other == 2) out.oldest_us = oldest_sec * 1e6;
      out.exit_status = 1;
      made.add(out);
    }
    return analyse(made.input);
  };
  CHECK(lost(job(0.5)) == std::vector{2});
  CHECK(lost(job(5)) == std::vector{0});
}

TEST_CASE("who waited for others, and may have been asked to end, did not begin it", "[ends]") {
  const auto job = [](double oldest_sec, double later_sec = 0.55) {
    Made made;
    made.load(0);
    made.load(2);
    made.connect(0, 2);
    for (const int rank : {0, 2}) {
      auto out = made.event(rank, t::EventId::kSummary, rank == 2 ? 5 : 5 + later_sec);
      out.open = 2;
      out.started = 11;
      out.completed = 10;
      out.oldest_us = (rank == 2 ? oldest_sec : 0.003) * 1e6;
      out.exit_status = 1;
      out.catches_sigterm = true;
      made.add(out);
    }
    return analyse(made.input);
  };
  CHECK(lost(job(0.01)) == std::vector{2});
  CHECK_FALSE(job(3).found_cause());
  CHECK_FALSE(job(0.01, 0.15).found_cause());  // each was in the middle as all were asked
}

TEST_CASE("who aborts its communicators is gone by then, however long its exit takes", "[ends]") {
  Made made;
  made.ring(4);
  for (const int i : {0, 1, 2, 3}) {
    auto named = made.event(i, t::EventId::kCommInit, 0.5);
    named.comm = "0xa";
    made.add(named);
  }
  double finalized = 5;
  SECTION("when its communicator is gone") {}
  SECTION("when its connections go, which takes a while") {
    made.close(2, 3, 5);
    finalized = 5.2;
  }
  auto aborted = made.event(2, t::EventId::kCommFinalize, finalized);
  aborted.comm = "0xa";
  made.add(aborted);
  leave(made, 3, 5.03, 0, 1);  // on the same host, of its NCCL's error
  leave(made, 2, finalized + 0.04, 0, 1);
  for (const int i : {0, 1}) box(made, i, 9, 4.9, 0);
  CHECK(lost(analyse(made.input)) == std::vector{2});
}

TEST_CASE("who heeds SIGTERM and ends with the others was asked to", "[ends]") {
  Made made;
  made.ring(4);
  double pause_us = 101e3;
  const auto end = [&](int process, double sec, std::uint64_t pending, int status = 1) {
    auto out = made.event(process, t::EventId::kSummary, sec);
    out.longest_pause_us = pause_us;
    out.started = 10 + pending;
    out.completed = 10;
    out.exit_status = status;
    out.catches_sigterm = true;
    made.add(out);
  };
  SECTION("all at once") {
    for (const int i : {0, 1, 2, 3}) end(i, 5 + 0.001 * i, i == 2 ? 0u : 4u);
  }
  SECTION("one of them a moment before, by when others had not been asked") {
    for (const int i : {0, 1, 2, 3}) end(i, i == 2 ? 4.985 : 5, i == 2 ? 0u : 4u);
  }
  SECTION("one of them a while before, on a machine that is busy") {
    pause_us = 190e3;
    for (const int i : {0, 1, 2, 3}) end(i, i == 2 ? 4.8 : 5, 4);
  }
  SECTION("but for one that had gone before with status 0, as if it were done") {
    leave(made, 1, 4.5, 2, 0);
    for (const int i : {0, 2, 3}) end(i, 5 + 0.001 * i, 4);
    CHECK(lost(analyse(made.input)) == std::vector{1});
    return;
  }
  SECTION("and the rest are killed in the end") {
    for (const int i : {0, 3}) end(i, 5, 0);
    for (const int i : {1, 2}) box(made, i, 6, 5.9, 0);
  }
  SECTION("with status 0 too, and one is killed in the end") {
    end(2, 5, 0);
    for (const int i : {0, 3}) end(i, 5.1, 0, 0);
    box(made, 1, 6.2, 5.9, 0);
  }
  const auto report = analyse(made.input);
  CHECK(report.kind == Kind::kEnded);
  CHECK_FALSE(report.found_cause());
}

TEST_CASE("who gave up its communicator and ended is missed by those in the next collective",
          "[ends]") {
  Made made;
  made.ring(4);
  for (const int other : {1, 3}) made.close(2, other, 4.9);
  auto out = made.event(2, t::EventId::kSummary, 5);
  made.add(out);
  for (const int other : {0, 1, 3}) leave(made, other, 5.9, 4, 0);
  const auto report = analyse(made.input);
  CHECK(report.kind == Kind::kLost);
  CHECK(lost(report) == std::vector{2});
}

TEST_CASE("a healthy job that is asked to end is nobody's fault", "[ends]") {
  Made made;
  made.ring(4);
  SECTION("all idle") {
    for (int i = 0; i < 4; ++i) leave(made, i, 5 + 0.4 * i, 0, 0);
  }
  SECTION("all in the middle") {
    for (int i = 0; i < 4; ++i) leave(made, i, 5 + 0.4 * i, 3, 0);
  }
  SECTION("together, and not all of them busy") {
    for (int i = 0; i < 4; ++i) leave(made, i, 5 + 0.01 * i, i == 0 ? 0u : 3u, 0);
  }
  const auto report = analyse(made.input);
  CHECK(report.kind == Kind::kHealthy);
  CHECK_FALSE(report.found_cause());
  CHECK_FALSE(report.warned);
}

// As where connections share a comm (PXN, all-to-all).
TEST_CASE("a healthy job that is killed is nobody's fault, and worth no warning", "[ends]") {
  Made made;
  made.ring(4);
  for (int i = 0; i < 4; ++i) box(made, i, 5 + 0.01 * i, 4.9, 1);
  const auto report = analyse(made.input);
  CHECK(report.kind == Kind::kEnded);
  CHECK_FALSE(report.found_cause());
  CHECK_FALSE(report.warned);
}

TEST_CASE("who is killed 0.2 s before the others went first where boxes are known to be on time",
          "[ends]") {
  const auto job = [](double pause_sec) {
    Made made;
    made.ring(4);
    for (int i = 0; i < 4; ++i) {
      box(made, i, i == 2 ? 4.8 : 5, 4.7, 1);
      made.input.boxes[Made::proc(i)].pause_ns = static_cast<std::uint64_t>(pause_sec * 1e9);
    }
    return analyse(made.input);
  };
  CHECK(lost(job(0.101)) == std::vector{2});
  for (const double late_or_not_known : {0.17, 3.0, 0.0})
    CHECK(lost(job(late_or_not_known)).empty());
}

TEST_CASE("a machine that is busy shows the end of some early, on several nodes", "[ends]") {
  const auto job = [](std::vector<int> early) {
    Made made;
    made.ring(6);
    for (int i = 0; i < 6; ++i)
      made.box(i, false, std::count(early.begin(), early.end(), i) != 0 ? 8.6 : 9);
    return analyse(made.input);
  };
  CHECK_FALSE(job({0, 2}).found_cause());
  const auto node = job({2, 3});
  CHECK(node.kind == Kind::kLost);
  CHECK(lost(node) == std::vector{2, 3});
}

TEST_CASE("where a log is cut off, that nothing was wrong is not known", "[ends]") {
  Made made;
  made.ring(3);
  for (const int i : {0, 1}) leave(made, i, 5, 0, 1);
  CHECK(made.input.job.processes().size() == 3);
  made.box(2, false, 5);
  CHECK(analyse(made.input).blame != Blame::kOpen);
  made.input.boxes.clear();
  made.input.job.cut_off(Made::proc(2));
  CHECK(analyse(made.input).blame == Blame::kOpen);
}

TEST_CASE("boxes of a job that runs, copied one after the other, show no death", "[ends]") {
  const auto job = [](double step, std::uint64_t pending) {
    Made made;
    made.ring(8);
    for (int i = 0; i < 8; ++i) {
      box(made, i, i < 2 ? 9 : 9 + (i - 1) * step, 8.9, i == 2 ? pending : 0);
      made.input.boxes[Made::proc(i)].conns[0].conn = 51;  // of 1
    }
    return analyse(made.input);
  };
  CHECK_FALSE(job(0.5, 0).found_cause());
  CHECK(job(0.05, 0).kind == Kind::kEnded);
  const auto missed = job(0.5, 3);
  CHECK(missed.kind == Kind::kLost);
  CHECK(lost(missed) == std::vector{0, 1});
}

TEST_CASE("who was silent for longer than the others took to end went before them", "[ends]") {
  const auto job = [](double pause) {
    Made made;
    made.ring(8);
    for (int i = 0; i < 8; ++i) box(made, i, i == 3 ? 9 - pause : 9 + 0.4 * i, 2, 0);
    return analyse(made.input);
  };
  const auto died = job(6);
  CHECK(died.kind == Kind::kLost);
  CHECK(lost(died) == std::vector{3});
  CHECK_FALSE(job(1).found_cause());
  CHECK_FALSE(job(2.5).found_cause());
}

TEST_CASE("a node's processes that failed together went before all who lived on", "[ends]") {
  const auto job = [](double rest) {
    Made made;
    made.ring(8);
    for (int i = 0; i < 6; ++i) box(made, i, rest + 0.4 * (i % 4), 2, 0);
    for (const int i : {6, 7}) {
      auto out = made.event(i, t::EventId::kSummary, 5 - 0.4 * (i - 6));
      out.exit_status = 1;
      out.catches_sigterm = true;
      made.add(out);
    }
    return analyse(made.input);
  };
  const auto died = job(11);
  CHECK(died.kind == Kind::kLost);
  CHECK(lost(died) == std::vector{7, 6});
  CHECK_FALSE(job(6).found_cause());
}

TEST_CASE("where a rank's log is not here, that nothing was wrong is not known", "[ends]") {
  Made made;
  for (const int rank : {0, 1}) made.load(rank, 0, 3);
  made.connect(0, 1);
  for (const int rank : {0, 1}) made.box(rank, false, 9);
  const auto report = analyse(made.input);
  CHECK(report.kind == Kind::kEnded);
  CHECK(report.missing.ranks == std::set{2});
  CHECK(report.blame == Blame::kOpen);
}

TEST_CASE("who ends with requests under way may leave those who have no log here", "[ends]") {
  Made made;
  made.load(0, 0, 2);
  made.add(made.of(0, 1, t::Direction::kSend, t::EventId::kConnReady, 1));
  SECTION("it does") {
    leave(made, 0, 5, 3, 0);
    const auto report = analyse(made.input);
    CHECK(report.kind == Kind::kEnded);
    CHECK(report.blame == Blame::kOpen);
    CHECK_FALSE(report.found_cause());
  }
  SECTION("it was done") {
    leave(made, 0, 5, 0, 0);
    CHECK(analyse(made.input).kind == Kind::kHealthy);
  }
}

TEST_CASE("without boxes, others who lived on tell that a process ended too early", "[ends]") {
  Made made;
  made.ring(4);
  leave(made, 2, 5, 0, 0);
  made.stall(1, "idle", 9, 4);
  const auto report = analyse(made.input);
  CHECK(report.kind == Kind::kLost);
  CHECK(lost(report) == std::vector{2});
}

TEST_CASE("an exit that nobody missed began nothing for sure while another log is cut off",
          "[ends]") {
  Made made;
  for (int i = 0; i < 4; ++i) made.load(i, 0, 4);
  leave(made, 1, 5, 0, 1);
  for (const int other : {0, 3}) leave(made, other, 6, 0, 0);
  SECTION("it is the first by all logs") {
    leave(made, 2, 6, 0, 0);
    const auto report = analyse(made.input);
    CHECK(report.kind == Kind::kLost);
    CHECK(report.blame == Blame::kNotNetwork);
  }
  SECTION("what the other one did isn't known") {
    made.input.job.cut_off(Made::proc(2));
    const auto report = analyse(made.input);
    CHECK(report.kind == Kind::kLost);
    CHECK(report.blame == Blame::kOpen);
  }
}

TEST_CASE("what who died had waited for may be in the part of its log that isn't here", "[ends]") {
  Made made;
  for (const int rank : {0, 2}) made.load(rank, 0, 2);
  made.connect(0, 2);
  box(made, 0, 9, 3, 0);
  box(made, 2, 10.5, 3, 0);
  const bool cut = GENERATE(false, true);
  if (cut) made.input.job.cut_off(Made::proc(0));
  const auto report = analyse(made.input);
  CHECK(report.kind == Kind::kLost);
  CHECK(report.blame == (cut ? Blame::kOpen : Blame::kNotNetwork));
}

TEST_CASE("an exit that others failed of may follow from what a cut log doesn't tell", "[ends]") {
  Made made;
  made.ring(4);
  leave(made, 1, 5, 0, 1);
  made.fail(2, 1, "RC-6", 5.1);
  leave(made, 2, 5.2, 0, 1);
  leave(made, 3, 5.2, 0, 1);
  const bool cut = GENERATE(false, true);
  if (cut)
    made.input.job.cut_off(Made::proc(0));
  else
    leave(made, 0, 5.2, 0, 1);
  const auto report = analyse(made.input);
  CHECK(report.kind == Kind::kLost);
  CHECK(lost(report).front() == 1);
  CHECK(report.blame == (cut ? Blame::kOpen : Blame::kNotNetwork));
}

TEST_CASE("a watchdog that is faster than the stall is told is no cause either", "[ends]") {
  Made made;
  for (const int process : {0, 2}) made.load(process, 0, 2);
  made.connect(0, 2);
  made.connect(2, 0);
  auto closed = made.of(2, 0, t::Direction::kRecv, t::EventId::kConnClose, 10);
  closed.in_flight = 3;
  made.add(closed);
  box(made, 0, 10.1, 2, 0);
  SECTION("its peer had asked for nothing") {
    box(made, 2, 16, 2, 0);
    const auto report = analyse(made.input);
    CHECK(report.kind == Kind::kHang);
    CHECK(report.blame == Blame::kNotNetwork);
    REQUIRE(report.waits.sinks.size() == 1);
    CHECK(ranks(report.picture, report.waits.sinks[0].members) == std::vector{2});
  }
  SECTION("its peer waited too") {
    box(made, 2, 16, 2, 1);
    const auto report = analyse(made.input);
    CHECK(report.kind == Kind::kLost);
  }
}

TEST_CASE("who was ended after it had waited for seconds did not bring the job down", "[ends]") {
  Made made;
  made.ring(4);
  SECTION("nobody tells of a wait") {
    for (int i = 0; i < 4; ++i) box(made, i, i == 1 ? 20 : 25, i == 1 ? 10 : 24.9, 1);
    const auto report = analyse(made.input);
    CHECK(report.kind == Kind::kLost);
    CHECK(report.blame == Blame::kOpen);
  }
  SECTION("others wait for it") {
    for (int i = 0; i < 4; ++i) box(made, i, i == 1 ? 20 : 25, 10, 1);
    made.stall(2, "nothing-came", 19, 9, 1);
    made.stall(0, "no-receive", 19, 9, 1, t::Direction::kSend);
    const auto report = analyse(made.input);
    CHECK(report.kind == Kind::kHang);
    REQUIRE_FALSE(report.waits.sinks.empty());
    CHECK(report.waits.sinks[0].kind == Sink::Kind::kSilent);
  }
  SECTION("all end together") {
    for (int i = 0; i < 4; ++i) box(made, i, 20 + 0.01 * i, 10, i == 1 ? 0u : 1u);
    const auto report = analyse(made.input);
    CHECK(report.kind == Kind::kEnded);
    CHECK(report.blame == Blame::kOpen);
  }
}

TEST_CASE("who had closed a connection that was waited on in vain had waited", "[ends]") {
  Made made;
  made.ring(4);
  for (int i = 0; i < 4; ++i) box(made, i, 30 + 0.01 * i, 10, 0);
  SECTION("with a request under way") {
    made.close(0, 1, 29.9, 1);
    const auto report = analyse(made.input);
    CHECK(report.kind == Kind::kEnded);
    CHECK(report.blame == Blame::kOpen);
  }
  SECTION("with none") {
    made.close(0, 1, 29.9);
    CHECK(analyse(made.input).blame == Blame::kNotNetwork);
  }
}

TEST_CASE("with a part of the logs a death that nobody failed of acquits nobody", "[ends]") {
  Made made;
  for (int i = 0; i < 4; ++i) made.load(i, 0, 6);
  for (int i = 0; i < 4; ++i) made.connect(i, (i + 1) % 4);
  for (int i = 0; i < 4; ++i) box(made, i, i == 1 ? 5 : 8, i == 1 ? 4.9 : 7.9, 1);
  const auto lost_one = analyse(made.input);
  CHECK(lost_one.kind == Kind::kLost);
  CHECK(lost_one.blame == Blame::kOpen);
  made.fail(0, 1, "WC-12", 5.5);
  CHECK(analyse(made.input).blame == Blame::kNotNetwork);
}

TEST_CASE("who leaves in the middle is missed by those who wait from then on, and still run",
          "[ends]") {
  const auto job = [](double waits_since) {
    Made made;
    made.ring(4);
    leave(made, 1, 5, 0, 0);
    made.stall(2, "nothing-came", 15, 15 - waits_since, 3);
    for (const int i : {0, 2, 3}) made.box(i, true, 20, 20.1);
    return analyse(made.input);
  };
  CHECK(lost(job(5.2)) == std::vector{1});
  CHECK(job(2).kind == Kind::kHang);  // others had waited before
}

TEST_CASE("who leaves before a collective that the others have called is missed by them",
          "[ends]") {
  const auto job = [](std::uint64_t its_calls) {
    Made made;
    made.ring(4);
    for (const int i : {0, 1, 2, 3}) {
      auto named = made.event(i, t::EventId::kCommInit, 0.5);
      named.comm = "0xa";
      named.rank = i;
      named.nranks = 4;
      named.seq = 7;
      made.add(named);
      nnd::log::Communicator box;
      box.rank = i;
      box.nranks = 4;
      box.given = 4;
      if (i != 1) made.input.job.set_communicator(Made::proc(i), "0xa", box);
    }
    auto out = made.event(1, t::EventId::kSummary, 5);
    out.exit_status = 0;
    nnd::log::LastGiven last;
    last.comm = "0xa";
    last.collectives = its_calls;
    out.communicators = {last};
    made.add(out);
    for (const int i : {0, 2, 3}) made.box(i, true, 20, 20.1);
    return analyse(made.input);
  };
  CHECK(lost(job(3)) == std::vector{1});
  CHECK(job(4).kind == Kind::kRunning);
}

TEST_CASE("who leaves a communicator that it has never used is missed by who is then ended",
          "[ends]") {
  const bool met = GENERATE(true, false);
  Made made;
  for (const int i : {0, 2}) {
    made.load(i);
    if (met) made.add(made.event(i, t::EventId::kInitReady, 1));
  }
  leave(made, 0, 2, 0, 0);
  made.box(2, false, 3);
  CHECK(lost(analyse(made.input)) == std::vector{met ? 0 : 2});
}
