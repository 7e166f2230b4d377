#include "report/runs.h"
#include "support/catch.h"
#include "unit/report/made.h"

using namespace nnd::report;
using nnd::report::test::Made;
using nnd::report::test::ranks;
namespace t = nnd::report::test;

TEST_CASE("a job in which nothing happened is healthy, and one that goes on runs", "[report]") {
  Made made;
  made.ring(4);
  CHECK(analyse(made.input).kind == Kind::kRunning);
  for (int i = 0; i < 4; ++i) made.end(i, 9);
  const auto report = analyse(made.input);
  CHECK(report.kind == Kind::kHealthy);
  CHECK(report.blame == Blame::kNone);
  CHECK_FALSE(report.found_cause());
}

TEST_CASE("nothing is known of no job", "[report]") {
  const Input input;
  const auto report = analyse(input);
  CHECK(report.picture.members.empty());
  CHECK_FALSE(report.found_cause());
}

TEST_CASE("the last of several jobs counts", "[runs]") {
  Made made;
  made.ring(2);
  made.end(0, 5);
  // Rank 0 again, an hour later, under another identity.
  auto again = made.event(0, t::EventId::kPluginLoad, 3600);
  again.proc = "0xb";
  again.launch.rank = 0;
  made.add(again);
  const auto runs = runs_of(made.input.job);
  REQUIRE(runs.size() == 2);
  CHECK(runs[0].size() == 2);
  REQUIRE(runs[1].size() == 1);
  CHECK(runs[1][0]->proc == "0xb");
  const auto picture = picture_of(made.input);
  CHECK(picture.members.size() == 1);
  CHECK(picture.earlier_processes == 2);
}

TEST_CASE("processes that start late belong to a job if their ranks were not there", "[runs]") {
  Made made;
  made.load(0, 0);
  made.load(1, 50);
  CHECK(runs_of(made.input.job).size() == 1);
  made.load(2, 500);  // nobody was alive any more
  CHECK(runs_of(made.input.job).size() == 2);
}

TEST_CASE("the earliest failure is the first cause, echoes follow", "[failures]") {
  Made made;
  made.ring(4);
  made.fail(2, 3, "RC-6", 4.9);  // told before, and an echo all the same
  made.fail(0, 1, "WC-12", 5);
  made.fail(0, 1, "WC-5", 5.1, 2);
  made.fail(3, 0, "RC-6", 6);
  for (int i = 0; i < 4; ++i) made.end(i, 9);
  const auto report = analyse(made.input);
  const auto& first = report.first;
  REQUIRE(first.roots.size() == 1);
  CHECK(first.roots[0].told->cause == "WC-12");
  CHECK(first.roots[0].here.host == "host0");
  CHECK(first.roots[0].here.dev == "mlx5_0");
  CHECK(first.roots[0].there.dev == "mlx5_1");
  CHECK(first.followed.size() == 3);
  CHECK(first.losses.empty());
  CHECK(report.blame == Blame::kNetwork);
}

TEST_CASE("what an HCA drops as it fails may be told before the HCA's own event", "[failures]") {
  Made made;
  made.ring(4);
  made.fail(1, 2, "WC-5", 5);
  auto fatal = made.event(1, t::EventId::kPortEvent, 5.01);
  fatal.severity = t::Severity::kError;
  fatal.cause = "ASYNC-FATAL";
  fatal.dev = Made::dev(1);
  made.add(fatal);
  for (int i = 0; i < 4; ++i) made.end(i, 9);
  const auto report = analyse(made.input);
  CHECK(report.kind == Kind::kFailed);
  CHECK(report.blame == Blame::kNetwork);
  REQUIRE(report.first.roots.size() == 1);
  CHECK(report.first.roots[0].told->cause == "ASYNC-FATAL");
  CHECK(report.first.roots[0].here.dev == "mlx5_1");
}

namespace {

// Of process 1, at 3 s.
auto port_down(const Made& made) {
  auto port = made.event(1, t::EventId::kPortEvent, 3);
  port.severity = t::Severity::kWarn;
  port.cause = "ASYNC-PORT";
  port.dev = Made::dev(1);
  return port;
}

}  // namespace

TEST_CASE("whose fault it can be is in the table of causes, and an open one leaves it to the event",
          "[failures]") {
  const auto reach_of = [](const char* cause, bool with_peer) {
    Made made;
    made.ring(2);
    if (with_peer) {
      made.fail(0, 1, cause, 5);
    } else {
      auto failure = made.event(0, t::EventId::kMrRegister, 5);
      failure.severity = t::Severity::kError;
      failure.cause = cause;
      failure.failure = 1;
      made.add(failure);
    }
    const auto failures = failures_of(picture_of(made.input));
    REQUIRE(failures.size() == 1);
    CHECK(failures[0].peer.has_value() == (with_peer && !is_own(failures[0].reach)));
    return failures[0].reach;
  };
  CHECK(reach_of("IB-FLID", true) == Reach::kPair);
  CHECK(reach_of("LIM-NOFILE", true) == Reach::kNode);
  CHECK(reach_of("MR-14", true) == Reach::kLocal);
  CHECK(reach_of("FROM-TOMORROW", true) == Reach::kPair);
  CHECK(reach_of("FROM-TOMORROW", false) == Reach::kLocal);
  CHECK(reach_of("RC-2", false) == Reach::kLocal);
}

TEST_CASE("a failure that NCCL got over, and a port's warning, are no first cause", "[failures]") {
  Made made;
  made.ring(2);
  auto failed = made.of(0, 1, t::Direction::kSend, t::EventId::kQpTransition, 0.5);
  failed.severity = t::Severity::kWarn;
  failed.cause = "QP-110";
  failed.failure = 1;
  made.add(failed);
  made.add(port_down(made));
  for (int i = 0; i < 2; ++i) made.end(i, 9);
  const auto report = analyse(made.input);
  CHECK_FALSE(report.first.any());
  REQUIRE(report.failures.size() == 2);
  CHECK(report.failures[0].recovered);
  CHECK(report.failures[1].warned);
  CHECK(report.kind == Kind::kDegraded);
}

TEST_CASE("a failure begins where its port told of it, and that stays a sign", "[failures]") {
  Made made;
  made.ring(4);
  auto port = port_down(made);
  port.failure = 1;
  made.add(port);
  made.box(2, false, 6);  // somebody gave up before the HCA did
  made.fail(1, 2, "ASYNC-PORT", 9);
  for (const int i : {0, 1, 3}) made.end(i, 12);
  const auto report = analyse(made.input);
  CHECK(report.kind == Kind::kFailed);
  CHECK(report.blame == Blame::kNetwork);
  REQUIRE(report.first.roots.size() == 1);
  CHECK(report.first.roots[0].told->event == "wc.error");
  REQUIRE(report.first.signs.size() == 1);
  CHECK(report.first.signs[0].told->event == "port.event");
  CHECK(report.first.at == report.first.signs[0].at);
}

TEST_CASE("a process that died first is lost, what its peers tell follows", "[failures]") {
  Made made;
  made.ring(4);
  made.box(2, false, 5);
  made.fail(1, 2, "WC-12", 8);
  for (const int i : {0, 1, 3}) made.end(i, 9);
  const auto report = analyse(made.input);
  CHECK(report.kind == Kind::kLost);
  CHECK(report.blame == Blame::kNotNetwork);
  REQUIRE(report.first.losses.size() == 1);
  CHECK(ranks(report.picture, {report.first.losses[0].member}) == std::vector{2});
  CHECK(report.first.at == t::kBegin + 5'000'000'000);
  CHECK(report.first.followed.size() == 1);
}

TEST_CASE("a process that died of a failure is not to blame", "[failures]") {
  Made made;
  made.ring(4);
  made.fail(1, 2, "WC-12", 5);
  made.box(1, false, 6);
  for (const int i : {0, 2, 3}) made.end(i, 9);
  const auto report = analyse(made.input);
  CHECK(report.kind == Kind::kFailed);
  CHECK(report.first.losses.empty());
}

TEST_CASE("all that end together were ended from outside, but for whoever went first",
          "[failures]") {
  Made made;
  made.ring(4);
  for (int i = 0; i < 4; ++i) made.box(i, false, 7 + 0.02 * i);
  CHECK(analyse(made.input).kind == Kind::kEnded);
  made.box(3, false, 5);
  const auto report = analyse(made.input);
  CHECK(report.kind == Kind::kLost);
  REQUIRE(report.first.losses.size() == 1);
  CHECK(ranks(report.picture, {report.first.losses[0].member}) == std::vector{3});
}

TEST_CASE("a process that ended while others had requests with it has left", "[failures]") {
  Made made;
  made.ring(4);
  for (const int i : {0, 1, 3}) made.end(i, 9);
  made.end(2, 5);
  auto close = made.of(1, 2, t::Direction::kSend, t::EventId::kConnClose, 8);
  close.in_flight = 1;
  made.add(close);
  const auto report = analyse(made.input);
  CHECK(report.kind == Kind::kLost);
  REQUIRE(report.first.losses.size() == 1);
  CHECK(report.first.losses[0].clean);
  CHECK(ranks(report.picture, {report.first.losses[0].member}) == std::vector{2});
}

TEST_CASE("who waited for one that has left, and was killed in the end, is no loss, but who left",
          "[failures]") {
  Made made;
  made.ring(2);
  made.end(1, 5);
  made.stall(0, "nothing-came", 30, 20, 1);
  made.box(0, false, 60);
  const auto report = analyse(made.input);
  CHECK(report.kind == Kind::kLost);
  REQUIRE(report.first.losses.size() == 1);
  CHECK(report.first.losses[0].clean);
  CHECK(ranks(report.picture, {report.first.losses[0].member}) == std::vector{1});
  REQUIRE(report.waits.sinks.size() == 1);
  CHECK(report.waits.sinks[0].kind == Sink::Kind::kLeft);
}

TEST_CASE("a communicator that is aborted leaves requests behind, and nobody is lost",
          "[failures]") {
  Made made;
  made.ring(2);
  made.close(0, 1, 4, 1);
  for (int i = 0; i < 2; ++i) made.end(i, 9);
  CHECK(analyse(made.input).kind == Kind::kHealthy);
}

TEST_CASE("a log that just ends says nothing while the job runs", "[failures]") {
  Made made;
  made.ring(4);
  made.stall(0, "slow", 60, 10);  // the others have been quiet for long
  CHECK_FALSE(analyse(made.input).first.any());
  // Nor once others have ended, whom it did not leave waiting: it may have been cut off.
  for (const int i : {0, 1, 2}) made.end(i, 70);
  CHECK_FALSE(analyse(made.input).first.any());
  made.fail(2, 3, "WC-12", 65);
  const auto report = analyse(made.input);
  REQUIRE(report.first.losses.size() == 1);
  CHECK(ranks(report.picture, {report.first.losses[0].member}) == std::vector{3});
}

TEST_CASE("ranks that left no log", "[missing]") {
  Made made;
  for (const int i : {0, 1, 3}) made.load(i, 0, 4);
  const auto picture = picture_of(made.input);
  CHECK(missing_of(picture, {}).ranks == std::set{2});
  CHECK_FALSE(missing_of(picture, {}).asked);
  const auto more = missing_of(picture, 6);
  CHECK(more.ranks == std::set{2, 4, 5});
  CHECK(more.asked);
  // The others are still being initialised: they wait for it.
  CHECK(analyse(made.input).kind == Kind::kMissing);
  made.connect(0, 1);
  made.connect(1, 3);
  made.connect(3, 0);
  // Nobody waits for it, and nobody asked: it is somebody's choice of logs.
  CHECK(analyse(made.input).kind == Kind::kRunning);
  CHECK(analyse(made.input, 4).kind == Kind::kMissing);
}

TEST_CASE("of processes without a rank only the number is known", "[missing]") {
  Made made;
  made.add(made.event(0, t::EventId::kPluginLoad, 0));
  const auto missing = missing_of(picture_of(made.input), 3);
  CHECK(missing.ranks.empty());
  CHECK(missing.unnamed == 2);
}

TEST_CASE("chains of waiting processes end where nobody waits", "[waits]") {
  Made made;
  made.ring(4);
  for (const int i : {3, 0, 1}) made.stall(i, "nothing-came", 30, 20, (i + 3) % 4);
  made.stall(1, "no-receive", 30, 20, 2, t::Direction::kSend);
  made.stall(2, "idle", 90, 80);
  const auto report = analyse(made.input);
  CHECK(report.kind == Kind::kHang);
  CHECK(report.blame == Blame::kNotNetwork);
  REQUIRE(report.waits.sinks.size() == 1);
  const auto& sink = report.waits.sinks[0];
  CHECK(sink.kind == Sink::Kind::kIdle);
  CHECK(ranks(report.picture, sink.members) == std::vector{2});
  CHECK(sink.waiting == 3);
  CHECK(sink.since == t::kBegin + 10'000'000'000);
}

TEST_CASE("a wait that is over is none", "[waits]") {
  Made made;
  made.ring(2);
  made.stall(0, "nothing-came", 30, 20, 1);
  auto resumed = made.of(1, 0, t::Direction::kRecv, t::EventId::kConnResume, 40);
  resumed.kind = "nothing-came";
  made.add(resumed);
  made.stall(1, "no-receive", 30, 20, 0, t::Direction::kSend);
  made.close(1, 0, 50);
  for (int i = 0; i < 2; ++i) made.end(i, 60);
  const auto report = analyse(made.input);
  CHECK(report.waits.waits.empty());
  CHECK(report.kind == Kind::kHealthy);
}

TEST_CASE("a program that computes for long after its last collective does not hang", "[waits]") {
  Made made;
  made.ring(2);
  for (int i = 0; i < 2; ++i) made.stall(i, "idle", 90, 60);
  CHECK(analyse(made.input).kind == Kind::kRunning);
}

TEST_CASE("what waits for the network is the network's", "[waits]") {
  Made made;
  made.ring(4);
  made.stall(0, "stuck-send", 30, 20, 1, t::Direction::kSend);
  made.stall(2, "nothing-came", 30, 20, 1);
  made.box(1, true, 39);  // which lives
  const auto report = analyse(made.input);
  CHECK(report.kind == Kind::kHang);
  CHECK(report.blame == Blame::kNetwork);
  REQUIRE(report.waits.network.size() == 1);
  CHECK(report.waits.network[0].here.dev == "mlx5_0");
  CHECK(report.waits.network[0].there.dev == "mlx5_1");
  REQUIRE_FALSE(report.culprits.empty());
}

TEST_CASE("processes that wait for each other", "[waits]") {
  Made made;
  made.ring(2);
  made.stall(0, "nothing-came", 30, 20, 1);
  made.stall(1, "nothing-came", 30, 20, 0);
  const auto report = analyse(made.input);
  REQUIRE(report.waits.sinks.size() == 1);
  CHECK(report.waits.sinks[0].kind == Sink::Kind::kCycle);
  CHECK(report.waits.sinks[0].members.size() == 2);
}

TEST_CASE("who only waits for a ring of waiting processes is not in it", "[waits]") {
  Made made;
  made.ring(4);
  made.connect(1, 0);
  made.stall(0, "nothing-came", 30, 20, 1);
  made.stall(1, "nothing-came", 30, 20, 0);
  made.stall(2, "nothing-came", 30, 20, 1);
  made.stall(3, "no-receive", 30, 20, 2, t::Direction::kSend);
  const auto report = analyse(made.input);
  REQUIRE(report.waits.sinks.size() == 1);
  CHECK(report.waits.sinks[0].kind == Sink::Kind::kCycle);
  CHECK(ranks(report.picture, report.waits.sinks[0].members) == std::vector{0, 1});
  CHECK(report.waits.sinks[0].waiting == 4);
}

TEST_CASE("a process that lives and shows no sign of it is stopped", "[waits]") {
  Made made;
  made.ring(2);
  made.stall(0, "nothing-came", 30, 20, 1);
  made.box(0, true, 40);
  made.box(1, true, 10);
  const auto report = analyse(made.input);
  REQUIRE(report.waits.sinks.size() == 1);
  CHECK(report.waits.sinks[0].kind == Sink::Kind::kStopped);
  made.box(1, true, 39);
  CHECK(analyse(made.input).waits.sinks[0].kind == Sink::Kind::kSilent);
}

TEST_CASE("a process that is stopped before anybody can tell of a wait for it", "[waits]") {
  Made made;
  for (int i = 0; i < 2; ++i) made.load(i, 0, 2);
  made.box(0, true, 40);
  made.box(1, true, 20);
  CHECK(analyse(made.input).kind == Kind::kStarting);
  made.box(1, true, 5);
  const auto report = analyse(made.input);
  CHECK(report.kind == Kind::kHang);
  CHECK(report.blame == Blame::kNotNetwork);
  REQUIRE(report.waits.sinks.size() == 1);
  CHECK(ranks(report.picture, report.waits.sinks[0].members) == std::vector{1});
}

TEST_CASE("what is stuck towards a process that is stopped is not the network's", "[waits]") {
  Made made;
  made.ring(2);
  made.stall(0, "stuck-send", 30, 20, 1, t::Direction::kSend);
  made.box(0, true, 40);
  made.box(1, true, 39);
  CHECK(analyse(made.input).blame == Blame::kNetwork);
  made.box(1, true, 10);
  const auto report = analyse(made.input);
  CHECK(report.blame == Blame::kNotNetwork);
  REQUIRE(report.waits.sinks.size() == 1);
  CHECK(report.waits.sinks[0].kind == Sink::Kind::kStopped);
  CHECK(report.waits.sinks[0].waiting == 1);
}

TEST_CASE("whose box was read long before the others' is not stopped for that", "[waits]") {
  Made made;
  made.ring(2);
  made.stall(0, "nothing-came", 30, 20, 1);
  made.box(0, true, 60, 60.1);
  made.box(1, true, 40, 40.1);
  CHECK(analyse(made.input).waits.sinks.at(0).kind == Sink::Kind::kSilent);
}

TEST_CASE("the majority is told, and who differs", "[odd]") {
  Made made;
  for (int i = 0; i < 8; ++i) {
    auto facts = made.event(i, t::EventId::kNodeFacts, 1);
    facts.facts = {{"env_hash", "1"}, {"kernel", i / 2 == 1 ? "5.15" : "6.8"}};
    if (i == 5) facts.facts["env.NCCL_IB_TC"] = "106";
    facts.facts["env.NCCL_NET_DIAG_FILE"] = "/tmp/" + std::to_string(i);  // its own
    made.add(facts);
  }
  const auto odd = deviations(picture_of(made.input));
  REQUIRE(odd.size() == 2);
  CHECK(odd[0].what == "NCCL_IB_TC");
  CHECK(odd[0].serious);
  CHECK(odd[0].usual == "not set");
  CHECK(odd[0].others[0].who == std::vector<std::string>{"host2 pid 105"});
  CHECK(odd[1].what == "kernel");
  CHECK(odd[1].usual == "6.8");
  CHECK(odd[1].usual_count == 6);
  CHECK(odd[1].others[0].value == "5.15");
  CHECK(odd[1].others[0].who == std::vector<std::string>{"host1"});
}

TEST_CASE("a port that is up is never the odd one", "[odd]") {
  Made made;
  for (int i = 0; i < 8; ++i) {
    auto hca = made.event(i, t::EventId::kHcaPort, 1);
    hca.verdict = "taken";
    hca.dev.name = "mlx5_0";
    hca.state = i < 2 ? "ACTIVE" : "DOWN";
    made.add(hca);
  }
  const auto odd = deviations(picture_of(made.input));
  const auto state = std::find_if(
      odd.begin(), odd.end(), [](const Deviation& one) { return one.what == "state of mlx5_0"; });
  REQUIRE(state != odd.end());
  CHECK(state->usual == "ACTIVE");
  REQUIRE(state->others.size() == 1);
  CHECK(state->others[0].value == "DOWN");
}

TEST_CASE("an index at which there is an address is never the odd one", "[odd]") {
  Made made;
  const auto index = [&](std::string other) {
    for (int i = 0; i < 3; ++i) {
      auto hca = made.event(i, t::EventId::kHcaPort, 1);
      hca.verdict = "taken";
      hca.dev.name = "mlx5_0";
      hca.dev.gid_index = i == 0 ? 3 : 10;
      hca.dev.gid = i == 0 ? "::ffff:10.0.0.1" : other;
      made.add(hca);
    }
    const auto odd = deviations(picture_of(made.input));
    const auto found = std::find_if(odd.begin(), odd.end(), [](const Deviation& one) {
      return one.what == "GID index of mlx5_0";
    });
    REQUIRE(found != odd.end());
    return found->usual;
  };
  SECTION("of the others") { CHECK(index("::ffff:10.0.0.2") == "10"); }
  SECTION("of it alone") { CHECK(index("") == "3"); }
}

TEST_CASE("who found no HCA is the odd one, however few others are there", "[odd]") {
  Made made;
  bool fell_back = true;
  for (int i = 0; i < 3; ++i) made.load(i);
  SECTION("NCCL fell back to TCP") {}
  SECTION("it was told to use TCP: nobody knows who is wrong") { fell_back = false; }
  for (int i = 0; i < 3; ++i) {
    auto load = made.event(i, t::EventId::kPluginLoad, 0);
    load.inner.name = i < 2 && !fell_back ? "Socket" : "IB";
    made.add(load);
    auto told = made.event(i, t::EventId::kEnvLint, 1);
    told.severity = t::Severity::kWarn;
    told.cause = "DEV-FALLBACK";
    if (i < 2 && fell_back) made.add(told);
  }
  const auto odd = deviations(picture_of(made.input));
  const auto transport = std::find_if(odd.begin(), odd.end(),
                                      [](const Deviation& one) { return one.what == "transport"; });
  REQUIRE(transport != odd.end());
  CHECK(transport->usual == (fell_back ? "IB" : "TCP"));
  CHECK(transport->others[0].value == (fell_back ? "TCP" : "IB"));
}

TEST_CASE("a log that is cut off before all HCAs were told lacks none for that", "[odd]") {
  Made made;
  for (int i = 0; i < 8; ++i) {
    auto hca = made.event(i, t::EventId::kHcaPort, 1);
    hca.verdict = "taken";
    for (const int number : {0, 1}) {
      hca.dev.name = "mlx5_" + std::to_string(number);
      if (i != 5 || number == 0) made.add(hca);
    }
  }
  const auto differ = [&] {
    const auto odd = deviations(picture_of(made.input));
    return std::any_of(odd.begin(), odd.end(),
                       [](const Deviation& one) { return one.what == "HCAs in use"; });
  };
  SECTION("in the middle of a line") {
    for (int i = 0; i < 8; ++i) made.add(made.event(i, t::EventId::kNetDevice, 2));
    CHECK(differ());
    made.input.job.cut_off(Made::proc(5));
    CHECK_FALSE(differ());
  }
  SECTION("after one of them") {
    for (int i = 0; i < 8; ++i)
      if (i != 5) made.add(made.event(i, t::EventId::kNetDevice, 2));
    CHECK_FALSE(differ());
  }
}

TEST_CASE("a log that was cut off hides no failure of others", "[failures]") {
  Made made;
  made.ring(6);
  made.fail(0, 1, "WC-12", 50);
  made.fail(5, 0, "WC-12", 51);
  for (int i = 0; i < 5; ++i) made.end(i, 60);
  const auto report = analyse(made.input);  // of process 5 nothing is known from 51 s on
  CHECK(report.kind == Kind::kFailed);
  REQUIRE_FALSE(report.culprits.empty());
  CHECK(report.culprits[0].place.host == "host0");
}

TEST_CASE("what only ends tell whose other ends have no log is open", "[failures]") {
  Made made;
  for (const int i : {0, 2}) made.load(i, 0, 3);
  made.connect(0, 2);
  for (const int i : {0, 2}) {
    auto failed = made.of(i, 1, t::Direction::kSend, t::EventId::kWcError, 5);
    failed.severity = t::Severity::kError;
    failed.cause = "WC-12";
    failed.failure = 1;
    made.add(failed);
  }
  for (const int i : {0, 2}) made.end(i, 9);
  CHECK(analyse(made.input).kind == Kind::kFailed);
  CHECK(analyse(made.input).blame == Blame::kOpen);
  made.load(1, 0, 3);
  made.end(1, 9);
  CHECK(analyse(made.input).blame == Blame::kNetwork);
}
