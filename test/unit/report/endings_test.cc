// How jobs end, and whom that is laid to: who began it, and nobody who was ended for it.
#include "report/ends.h"
#include "report/jobs.h"
#include "report/rails.h"
#include "report/runs.h"
#include "support/catch.h"
#include "unit/report/made.h"

using namespace nnd::report;
using nnd::report::test::Made;
using nnd::report::test::ranks;
namespace t = nnd::report::test;

namespace {

// Its last words: what it had open, what it had asked for and not got.
void leave(Made& made, int process, double sec, std::uint64_t pending,
           std::optional<int> status = {}) {
  auto out = made.event(process, t::EventId::kSummary, sec);
  out.open = 2;
  out.started = 10 + pending;
  out.completed = 10;
  out.exit_status = status;
  made.add(out);
}

std::vector<int> lost(const Report& report) {
  std::vector<std::size_t> members;
  for (const auto& loss : report.first.losses) members.push_back(loss.member);
  return ranks(report.picture, members);
}

// A box of a process that had asked for nothing since, or still asks.
void box(Made& made, int process, double alive_sec, double asked_sec, std::uint64_t pending) {
  made.box(process, false, alive_sec);
  auto& out = made.input.boxes[Made::proc(process)];
  nccl_net_diag::box::ConnSlot slot{};
  slot.conn = 1;
  slot.kind = 3;
  slot.started = 10 + pending;
  slot.completed = 10;
  out.conns.push_back(slot);
  out.asked_ns = static_cast<std::uint64_t>(asked_sec * 1e9);
}

}  // namespace

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

TEST_CASE("who is killed in the very moment of a failed exit followed it", "[ends]") {
  const auto job = [](int status, std::uint64_t pending = 0) {
    Made made;
    made.ring(4);
    leave(made, 3, 5.003, pending, status);
    for (const int other : {0, 1, 2}) box(made, other, other == 2 ? 5 : 9, 4.9, 1);
    return analyse(made.input);
  };
  CHECK(lost(job(3)) == std::vector{3});
  CHECK(lost(job(128 + 15)) == std::vector{2});
  CHECK(lost(job(3, 1)) == std::vector{2});  // which had requests under way itself
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

TEST_CASE("a healthy job that is killed is nobody's fault, and worth no warning", "[ends]") {
  Made made;
  made.ring(4);
  for (int i = 0; i < 4; ++i) box(made, i, 5 + 0.01 * i, 4.9, 1);
  const auto report = analyse(made.input);
  CHECK(report.kind == Kind::kEnded);
  CHECK_FALSE(report.found_cause());
  CHECK_FALSE(report.warned);
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

TEST_CASE("two releases of NCCL make no communicator", "[difference]") {
  const auto with = [](const std::string& other, bool connected, std::optional<int> status = {}) {
    Made made;
    for (const int rank : {0, 1}) {
      auto load = made.event(rank, t::EventId::kPluginLoad, 0);
      load.launch.rank = rank;
      load.launch.world_size = 2;
      load.nccl_version = rank == 0 ? "2.28.9" : other;
      made.add(load);
    }
    if (connected) made.connect(0, 1);
    for (const int rank : {0, 1}) leave(made, rank, 2, 0, status);
    return analyse(made.input);
  };
  for (const auto& two : {with("2.27.7", false), with("2.27.7", false, 1)}) {
    CHECK(two.kind == Kind::kLost);
    CHECK(two.blame == Blame::kNotNetwork);
    REQUIRE(two.difference);
    CHECK(two.difference->cause == "INC-VERSION");
  }
  for (const auto& fine : {with("2.28.9", false), with("2.27.7", true)}) {
    CHECK(fine.kind == Kind::kHealthy);
    CHECK(!fine.difference);
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
  const auto report = analyse(made.input);
  REQUIRE_FALSE(report.waits.sinks.empty());
  CHECK(report.waits.sinks[0].kind == Sink::Kind::kIdle);
  CHECK(report.blame == Blame::kOpen);
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

TEST_CASE("ranks whose logs were not collected are not missing where all have met", "[missing]") {
  Made made;
  for (const int process : {0, 2}) made.load(process, 0, 4);
  made.connect(0, 2);
  made.connect(2, 0);
  made.stall(0, "nothing-came", 7, 2, 2);
  made.box(0, true, 39);
  made.box(2, true, 39);
  const auto report = analyse(made.input);
  CHECK(report.missing.any());
  CHECK(report.missing.came);
  CHECK(report.kind == Kind::kHang);
  CHECK(analyse(made.input, 4).kind == Kind::kMissing);  // somebody asks for them
}

TEST_CASE("the address of a peer without a log shows that rails are swapped", "[rails]") {
  Made made;
  const auto hca = [&](int index, const char* gid, const char* subnet) {
    auto out = made.event(0, t::EventId::kHcaPort, 0);
    out.dev.name = "mlx5_" + std::to_string(index);
    out.dev.port = 1;
    out.dev.gid = gid;
    out.dev.subnet = subnet;
    out.verdict = "taken";
    made.add(out);
    return out.dev;
  };
  auto load = made.event(0, t::EventId::kPluginLoad, 0);
  load.launch.rank = 0;
  made.add(load);
  const auto dev = hca(0, "::ffff:10.1.0.2", "10.1.0.0/24");
  hca(1, "::ffff:10.1.1.2", "10.1.1.0/24");
  const auto fails = [&](const char* gid) {
    auto out = made.event(0, t::EventId::kConnFail, 3);
    out.severity = t::Severity::kError;
    out.cause = "RC-6";
    out.conn = 1;
    out.failure = 1;
    out.dev = dev;
    out.peer.gid = gid;
    made.add(out);
  };
  SECTION("it is in another rail of this node") {
    fails("::ffff:10.1.1.3");
    const auto report = analyse(made.input);
    REQUIRE(report.rails);
    CHECK(report.rails->address == "10.1.1.3");
    CHECK(report.rails->subnet == "10.1.1.0/24");
    CHECK(report.rails->dev == "mlx5_1");
    CHECK(report.blame == Blame::kNetwork);
  }
  SECTION("it is where it should be") {
    fails("::ffff:10.1.0.3");
    CHECK_FALSE(analyse(made.input).rails);
  }
  SECTION("connections between networks are made all the same") {
    fails("::ffff:10.1.1.3");
    auto ready = made.event(0, t::EventId::kConnReady, 2);
    ready.conn = 2;
    ready.dev = dev;
    ready.peer.gid = "::ffff:10.1.1.9";
    made.add(ready);
    CHECK_FALSE(analyse(made.input).rails);
  }
  SECTION("each node may have networks of its own") {
    fails("::ffff:10.9.0.3");
    CHECK_FALSE(analyse(made.input).rails);
  }
}

TEST_CASE("a GID that was known to be bad is why a QP did not fit the port", "[failures]") {
  Made made;
  made.ring(2);
  auto bad = made.event(0, t::EventId::kPolicyWarn, 0.5);
  bad.severity = t::Severity::kWarn;
  bad.cause = "GID-WRONG";
  bad.dev = Made::dev(0);
  made.add(bad);
  made.fail(0, 1, "QP-22", 3);
  const auto report = analyse(made.input);
  REQUIRE(report.kind == Kind::kFailed);
  CHECK(report.first.roots[0].told->cause == "GID-WRONG");
}

TEST_CASE("a QP that was to reach no GID fails of the other end", "[failures]") {
  const auto job = [](bool with_log) {
    Made made;
    for (const int rank : {0, 1}) made.load(rank, 0, 2);
    auto refused = made.of(0, 1, t::Direction::kRecv, t::EventId::kQpTransition, 1);
    refused.severity = t::Severity::kWarn;
    refused.cause = "QP-22";
    refused.failure = 1;
    refused.dev.gid = "::ffff:10.0.0.1";
    refused.peer.gid.clear();
    made.add(refused);
    if (with_log) {
      auto warned = made.event(0, t::EventId::kPolicyWarn, 0.5);
      warned.severity = t::Severity::kWarn;
      warned.cause = "GID-WRONG";
      warned.dev = Made::dev(0);
      made.add(warned);
      made.fail(0, 1, "QP-61", 1.2);
    }
    return analyse(made.input);
  };
  const auto both = job(true);
  REQUIRE(!both.first.roots.empty());
  CHECK(both.first.roots[0].told->cause == "GID-WRONG");
  CHECK(ranks(both.picture, {both.first.roots[0].member}) == std::vector{0});
  const auto one = job(false);
  CHECK(one.kind == Kind::kFailed);
  CHECK(one.blame == Blame::kOpen);
}

TEST_CASE("incarnations of a job are told apart by the launcher's counts", "[runs]") {
  Made made;
  for (int i = 0; i < 4; ++i) {
    auto load = made.event(i, t::EventId::kPluginLoad, i < 2 ? 0 : 5);
    load.launch.job = "7";
    load.launch.requeues = i < 2 ? 0 : 1;
    made.add(load);
  }
  CHECK(runs_of(made.input.job).size() == 2);
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

TEST_CASE("the run to be judged is the one that failed last", "[runs]") {
  constexpr auto kFine = Outcome::kFine, kUnknown = Outcome::kUnknown, kFailed = Outcome::kFailed;
  constexpr Ns kMinute = 60'000'000'000;
  const auto run = [](const std::string& job, std::size_t incarnation, Ns first) {
    return JobRun{job, incarnation, 2, first, first + kMinute};
  };
  const std::vector<JobRun> jobs{run("7", 1, 0), run("7", 2, 2 * kMinute),
                                 run("7", 3, 4 * kMinute)};
  CHECK(job_to_judge(jobs, {kFine, kFine, kFine}) == 2);
  CHECK(job_to_judge(jobs, {kFailed, kFine, kFine}) == 0);
  CHECK(job_to_judge(jobs, {kFailed, kFailed, kFine}) == 1);
  CHECK(job_to_judge(jobs, {kFailed, kFine, kFailed}) == 2);
  CHECK(job_to_judge(jobs, {kFine, kUnknown, kFine}) == 1);  // killed, as it was started again
  CHECK(job_to_judge(jobs, {kFailed, kUnknown, kFine}) == 0);
  CHECK(job_to_judge(jobs, {kFine, kFine, kUnknown}) == 2);
  CHECK(job_to_judge({run("6", 1, 0), run("7", 1, 2 * kMinute)}, {kFailed, kFine}) == 1);
  CHECK(job_to_judge({run("7", 1, 0), run("7", 2, 99 * kMinute)}, {kFailed, kFine}) == 1);
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
