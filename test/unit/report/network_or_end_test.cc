// Whether the network kept a job, or a process that had ended.
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

TEST_CASE("who left its TCP connections open and no sign of life did not die then", "[ends]") {
  Made made;
  for (const int process : {0, 2}) made.load(process, 0, 2);
  made.connect(0, 2);
  made.connect(2, 0);
  box(made, 0, 14, 3, 4);
  box(made, 2, 3, 2.5, 1);
  SECTION("its TCP connection was open seconds later") {
    made.stall(0, "nothing-came", 13, 10, 2, t::Direction::kRecv, "open");
    const auto report = analyse(made.input);
    CHECK(report.kind == Kind::kHang);
    CHECK(report.blame == Blame::kNotNetwork);
    REQUIRE_FALSE(report.waits.sinks.empty());
    CHECK(report.waits.sinks[0].kind == Sink::Kind::kStopped);
    CHECK(ranks(report.picture, report.waits.sinks[0].members) == std::vector{2});
  }
  SECTION("it was closed by then: it died") {
    made.stall(0, "nothing-came", 13, 10, 2, t::Direction::kRecv, "closed");
    const auto report = analyse(made.input);
    CHECK(report.kind == Kind::kLost);
    CHECK(report.blame == Blame::kNotNetwork);
    CHECK(lost(report) == std::vector{2});
    CHECK(report.ends[report.first.losses[0].member].failed_towards);
  }
}

TEST_CASE("what had been told to be stuck before a peer ended is the network's", "[ends]") {
  Made made;
  made.ring(2);
  made.stuck_send(0, 1, 5, 1);
  SECTION("it ended after that") {
    leave(made, 1, 5.5, 1, 0);
    leave(made, 0, 8, 1, 0);
    const auto report = analyse(made.input);
    CHECK(report.kind == Kind::kHang);
    CHECK(report.blame == Blame::kNetwork);
  }
  SECTION("nobody knows whether it had: its log just ends before") {
    made.box(0, false, 8);
    const auto report = analyse(made.input);
    CHECK(report.kind == Kind::kHang);
    CHECK(report.waits.network.empty());
  }
  SECTION("it had ended before") {
    leave(made, 1, 4, 0, 0);
    leave(made, 0, 8, 1, 0);
    const auto report = analyse(made.input);
    CHECK(report.blame == Blame::kNotNetwork);
  }
}

TEST_CASE("a log that is cut off tells of no death that could acquit the network", "[ends]") {
  Made made;
  made.ring(4);
  made.input.job.cut_off(Made::proc(2));
  for (const int other : {1, 3}) made.fail(other, 2, "WC-12", 6);
  for (const int other : {0, 1, 3}) made.box(other, false, 9 + other);
  auto report = analyse(made.input);
  CHECK(report.kind == Kind::kLost);
  CHECK(lost(report) == std::vector{2});
  CHECK(report.blame == Blame::kOpen);
  made.box(2, false, 5);
  report = analyse(made.input);
  CHECK(report.kind == Kind::kLost);
  CHECK(report.blame == Blame::kNotNetwork);
}

TEST_CASE("a request is not answered for all its retries before it fails of a death", "[ends]") {
  Made made;
  for (const int process : {0, 1}) made.load(process, 0, 2);
  auto ready = made.of(0, 1, t::Direction::kSend, t::EventId::kConnReady, 1);
  auto& qp = ready.qps.emplace_back();
  qp.timeout = 14;  // 67 ms
  qp.retry_cnt = 7;
  made.add(ready);
  made.fail(0, 1, "WC-12", 6);
  made.box(0, false, 6.1);
  SECTION("it was gone that long") {
    made.box(1, false, 5.7);
    const auto report = analyse(made.input);
    CHECK(report.kind == Kind::kLost);
    CHECK(lost(report) == std::vector{1});
  }
  SECTION("it lived while the request was tried again") {
    made.box(1, false, 5.9);
    const auto report = analyse(made.input);
    CHECK(report.kind == Kind::kFailed);
    CHECK(report.blame == Blame::kNetwork);
  }
}

TEST_CASE("which came first is open where nothing compares the clocks", "[ends]") {
  Made made;
  for (const int process : {0, 2}) made.load(process, 0, 2);
  made.fail(0, 2, "WC-12", 5);
  made.box(0, false, 9);
  SECTION("of a death a moment after the failure") {
    made.box(2, false, 5.5);
    const auto report = analyse(made.input);
    CHECK(report.kind == Kind::kLost);
    CHECK(report.blame == Blame::kOpen);
  }
  SECTION("but not of one before it") {
    made.box(2, false, 4.9);
    const auto report = analyse(made.input);
    CHECK(report.kind == Kind::kLost);
    CHECK(report.blame == Blame::kNotNetwork);
  }
}

TEST_CASE("a port that went down, and for which others wait, goes before who is killed then",
          "[ends]") {
  Made made;
  made.ring(4);
  auto down = made.event(0, t::EventId::kPortEvent, 3);
  down.dev = Made::dev(0);
  down.severity = t::Severity::kWarn;
  down.cause = "ASYNC-PORT";
  made.add(down);
  made.stall(1, "nothing-came", 7, 3, 0);
  made.stuck_send(0, 1, 7, 3);
  for (const int process : {0, 1, 2}) made.box(process, false, 12);
  made.box(3, false, 10);
  const auto report = analyse(made.input);
  CHECK(report.kind == Kind::kHang);
  CHECK(report.blame == Blame::kNetwork);
}

TEST_CASE("a port that goes as others begin to wait is why, where its user left no log", "[ends]") {
  const auto job = [](int world, double down_sec) {
    Made made;
    for (const int process : {0, 2}) made.load(process, 0, world);
    made.connect(0, 2);
    made.connect(2, 0);
    auto down = made.event(2, t::EventId::kPortEvent, down_sec);
    down.dev = Made::dev(3);
    down.severity = t::Severity::kWarn;
    down.cause = "ASYNC-PORT";
    made.add(down);
    made.stall(0, "nothing-came", 20, 10, 2);  // since 10
    box(made, 0, 22, 10, 1);
    box(made, 2, 22, 9.8, 0);
    return analyse(made.input);
  };
  const auto report = job(4, 9.9);
  CHECK(report.kind == Kind::kFailed);
  CHECK(report.blame == Blame::kNetwork);
  REQUIRE(report.first.roots.size() == 1);
  CHECK(report.first.roots[0].here.dev == "mlx5_1");
  CHECK(job(4, 3).kind == Kind::kHang);    // long before
  CHECK(job(2, 9.9).kind == Kind::kHang);  // all logs are here, and nobody used it
}

TEST_CASE("who closed its TCP connection and left no log is no evidence of the network",
          "[waits]") {
  const auto blame = [](const std::string& peer_tcp) {
    Made made;
    made.load(0, 0, 2);
    auto stuck = made.event(0, t::EventId::kConnStall, 7);
    stuck.conn = 12;
    stuck.dir = t::Direction::kSend;
    stuck.dev = Made::dev(0);
    stuck.peer.gid = Made::gid(2);
    stuck.kind = "stuck-send";
    stuck.severity = t::Severity::kWarn;
    stuck.cause = "HANG-DATA";
    stuck.age_us = 2e6;
    stuck.peer_tcp = peer_tcp;
    made.add(stuck);
    made.box(0, false, 12);
    return analyse(made.input).blame;
  };
  CHECK(blame("closed") == Blame::kOpen);
  CHECK(blame("open") == Blame::kNetwork);
}

TEST_CASE("deaths that nothing explains are not laid to nobody where nodes are set apart",
          "[difference]") {
  Made made;
  const auto load = [&](int process, const char* subnet) {
    auto loaded = made.event(process, t::EventId::kPluginLoad, 0);
    loaded.launch.rank = process;
    made.add(loaded);
    auto hca = made.event(process, t::EventId::kHcaPort, 0.1);
    hca.dev.name = "mlx5_0";
    hca.dev.gid = Made::gid(process);
    hca.dev.subnet = subnet;
    hca.state = "ACTIVE";
    hca.verdict = "taken";
    made.add(hca);
    auto other = hca;
    other.dev.name = "mlx5_1";
    other.dev.gid = "other" + Made::gid(process);
    other.dev.subnet = "net9";
    made.add(other);
    made.box(process, false, 6 + process);
  };
  for (const int process : {0, 1}) load(process, "net0");
  for (const int process : {2, 3}) load(process, "net1");
  SECTION("before they were connected") {
    const auto report = analyse(made.input);
    CHECK(report.found_cause());
    CHECK(report.blame == Blame::kOpen);
    REQUIRE(report.difference);
    CHECK(report.odd[report.difference->odd].what == "subnet of mlx5_0");
  }
  SECTION("but for what was connected all the same") {
    made.connect(1, 2);
    const auto report = analyse(made.input);
    CHECK(report.blame == Blame::kNotNetwork);
    CHECK_FALSE(report.difference);
  }
}

TEST_CASE("what a path is does not follow from the end of all at its other end", "[ends]") {
  Made made;
  for (int i = 0; i < 4; ++i) made.load(i, 0, 4);
  auto failed = made.event(3, t::EventId::kQpTransition, 5);
  failed.severity = t::Severity::kError;
  failed.cause = "SUB-RAIL";
  failed.failure = 1;
  failed.qp.to = "RTR";
  failed.rc = failed.error = 110;
  failed.dev = Made::dev(3);
  failed.peer.gid = Made::gid(0);
  made.add(failed);
  leave(made, 3, 5.05, 0, 1);
  for (const int i : {0, 1, 2}) box(made, i, 5.03, 4.9, 0);
  const auto report = analyse(made.input);
  CHECK(report.kind == Kind::kFailed);
  CHECK(report.blame == Blame::kNetwork);
}
