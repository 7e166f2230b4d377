// Real NCCL jobs with one fault each: the report over what they left names it, and the same job
// without the fault is healthy.
#include <fstream>
#include <set>
#include <string>

#include "job/reported.h"
#include "support/catch.h"

using namespace softcuda;
using nnd::report::Blame;
using nnd::report::Culprit;
using nnd::report::Ending;
using nnd::report::Sink;
using nnd::test::failures;
using nnd::test::ranks_of;
using What = Action::Kind;

namespace {

constexpr const char* kTwoNodes = R"(
resolve_timeout_ms = 20
[[host]]
count = 2
name = "node{h}"
[[host.hca]]
count = 2
name = "mlx5_{i}"
netdev = "eth{i}"
address = "10.1.{i}.{h+1}/16"
speed_mbps = 200000
[[host.gpu]]
count = 2
)";

// Two GPUs and two HCAs a node; `fault`: tables of a scenario.
struct Reported : nnd::test::ReportedJob {
  explicit Reported(const std::string& fault = "", int gpus_per_node = 2)
      : ReportedJob(kTwoNodes + fault, gpus_per_node) {}
};

}  // namespace

TEST_CASE("a healthy job", "[report]") {
  Reported job;
  REQUIRE(failures(job.job().run()) == "");
  const auto& report = job.read(4);
  CHECK(report.kind == nnd::report::Kind::kHealthy);
  CHECK(report.blame == Blame::kNone);
  CHECK_FALSE(report.found_cause());
  CHECK(report.picture.members.size() == 4);
  CHECK(report.failures.empty());
  CHECK(report.odd.empty());
  CHECK(report.slow.empty());
  for (const auto& host : report.picture.hosts)
    CHECK(host.ahead == 0);  // it is one machine's clock
}

TEST_CASE("two communicators that are shrunk from one have one hash", "[report-shrunk]") {
  Reported job;
  auto& actions = job.spec().actions;
  actions = {{.kind = What::kCreate}};
  const int last = job.spec().ranks() - 1;
  for (const int made : {1, 2})
    for (int rank = 0; rank < last; ++rank) {
      actions.push_back({.kind = What::kShrink, .made = made, .only_rank = rank});
      actions.push_back({.kind = What::kCollective,
                         .comm = made,
                         .bytes = 1000000u << made,
                         .iterations = made,
                         .only_rank = rank});
    }
  for (const int comm : {2, 1})
    for (int rank = 0; rank < last; ++rank)
      actions.push_back({.kind = What::kDestroy, .comm = comm, .only_rank = rank});
  for (const int comm : {2, 1})  // who destroys meets first
    actions.push_back({.kind = What::kMeet, .comm = comm, .only_rank = last});
  actions.push_back({.kind = What::kDestroy});
  REQUIRE(failures(job.job().run()) == "");
  const auto& report = job.read(4);
  CHECK(report.kind == nnd::report::Kind::kHealthy);
  CHECK(report.picture.several.size() == 1);
  CHECK(report.waits.apart.empty());
}

TEST_CASE("a rank that dies in the middle", "[report]") {
  Reported job;
  job.spec().actions = {{.kind = What::kCreate},
                        {.kind = What::kCollective, .bytes = 4000000},
                        {.kind = What::kMeet},
                        {.kind = What::kDie, .only_rank = 2},
                        {.kind = What::kCollective, .bytes = 40000000, .iterations = 4},
                        {.kind = What::kDestroy}};
  CHECK(job.job().run().ranks.at(2).signal == SIGKILL);
  const auto& report = job.read();
  CHECK(report.kind == nnd::report::Kind::kLost);
  CHECK(report.blame == Blame::kNotNetwork);
  REQUIRE(report.first.losses.size() == 1);
  const auto lost = report.first.losses[0].member;
  CHECK(ranks_of(report, {lost}) == std::vector{2});
  CHECK(report.picture.members[lost].ending == Ending::kDied);
  CHECK_FALSE(report.first.followed.empty());
}

TEST_CASE("what a killed rank left in its black box continues its log", "[report]") {
  Reported job;
  job.spec().actions = {{.kind = What::kCreate},
                        {.kind = What::kCollective, .bytes = 40000, .iterations = 1000000}};
  job.spec().grace_sec = 1;
  const auto file = job.job().dir() / "rank1.nndbox";
  // In the middle of its work, as soon as its box has the connections.
  bool killed = false;
  job.job().run([&] {
    if (!killed && job.pid_of(1) != 0 && !nnd::report::read_box_file(file).contents.conns.empty())
      killed = kill(job.pid_of(1), SIGKILL) == 0;
    return false;
  });
  REQUIRE(killed);
  const auto box = nnd::report::read_box_file(file);
  CHECK_FALSE(box.living);
  CHECK(box.contents.damaged_rings + box.contents.damaged_records + box.contents.damaged_conns ==
        0);
  CHECK_FALSE(box.contents.conns.empty());
  nnd::report::Written written;
  nnd::log::LineParser parser;
  nnd::log::LogFile(job.job().dir() / "rank1.jsonl")
      .read(parser, [&](const nnd::log::Event& event) { written.add(event); });
  const auto next = written.next_seq().value();
  auto due = next;
  nnd::report::for_each_line(box, written, [&](const std::string& line) {
    const auto event = nlohmann::json::parse(line);
    CHECK(event["seq"] == due++);
    CHECK(event["proc"] == box.proc());
    CHECK(event["host"] == "node0");
  });
  // With nothing known of the log, from where the box says that it was.
  std::size_t lines = 0;
  nnd::report::for_each_line(box, {}, [&](const std::string&) { ++lines; });
  CHECK(lines == box.contents.records.size());
}

TEST_CASE("a cable that is cut", "[report]") {
  Reported job(R"(
[[fault]]
kind = "link-down"
host = "node1"
hca = "mlx5_1"
after_messages = 40
)");
  job.job().run();
  const auto& report = job.read();
  CHECK(report.kind == nnd::report::Kind::kFailed);
  CHECK(report.blame == Blame::kNetwork);
  REQUIRE_FALSE(report.first.roots.empty());
  // The end whose cable it is knows why; the other one doesn't. Which is first is the network's.
  CHECK(std::set<std::string>{"WC-12", "ASYNC-PORT"}.contains(report.first.roots[0].told->cause));
  REQUIRE_FALSE(report.first.signs.empty());
  CHECK(report.first.signs[0].told->cause == "ASYNC-PORT");
  REQUIRE_FALSE(report.culprits.empty());
  CHECK(report.culprits[0].kind == Culprit::Kind::kHca);
  CHECK(report.culprits[0].place.host == "node1");
  CHECK(report.culprits[0].place.dev == "mlx5_1");
}

TEST_CASE("an address that can't be reached", "[report]") {
  Reported job(R"(
[[fault]]
kind = "refuse-rtr"
host = "node0"
hca = "mlx5_0"
errno = "ENETUNREACH"
)");
  job.job().run();
  const auto& report = job.read();
  CHECK(report.kind == nnd::report::Kind::kFailed);
  REQUIRE_FALSE(report.first.roots.empty());
  const auto& root = report.first.roots[0];
  CHECK(root.told->cause == "QP-101");
  CHECK(root.here.host == "node0");
  CHECK(root.here.dev == "mlx5_0");
  CHECK(root.there.host == "node1");
}

TEST_CASE("memory that can't be registered on one node", "[report]") {
  Reported job(R"(
[[fault]]
kind = "fail-call"
host = "node1"
verb = "ibv_reg_mr_iova2"
errno = "ENOMEM"
times = 0
)");
  job.job().run();
  const auto& report = job.read();
  CHECK(report.kind == nnd::report::Kind::kFailed);
  REQUIRE_FALSE(report.first.roots.empty());
  CHECK(report.first.roots[0].reach == nnd::report::Reach::kNode);
  for (const auto& root : report.first.roots) {
    CHECK(root.here.host == "node1");
    const bool memory = root.told->cause == "MR-12" || root.told->cause.starts_with("LIM-MEMLOCK");
    CHECK(memory);
  }
}

TEST_CASE("a rank that is missing from a collective", "[report]") {
  Reported job("", 1);
  job.spec().environment["NCCL_NET_DIAG_STALL_SEC"] = "1";
  job.spec().actions = {{.kind = What::kCreate},
                        {.kind = What::kCollective, .bytes = 1000004, .iterations = 3},
                        {.kind = What::kCollective, .bytes = 1000004, .only_rank = 0},
                        {.kind = What::kMeet}};
  job.job().run([&] { return job.told(0, "nothing-came") && job.told(1, "idle"); });
  const auto& report = job.read();
  CHECK(report.kind == nnd::report::Kind::kHang);
  CHECK(report.blame == Blame::kNotNetwork);
  REQUIRE_FALSE(report.waits.sinks.empty());
  CHECK(report.waits.network.empty());
  CHECK(ranks_of(report, report.waits.sinks[0].members) == std::vector{1});
}

TEST_CASE("a rank that is stopped", "[report]") {
  Reported job("", 1);
  job.spec().environment["NCCL_NET_DIAG_STALL_SEC"] = "1";
  job.spec().actions = {{.kind = What::kCreate},
                        {.kind = What::kCollective, .bytes = 1000004, .iterations = 3},
                        {.kind = What::kCollective, .bytes = 1000004, .iterations = 1000000}};
  // In traffic: its HCA stops with it.
  const auto& report =
      job.read_stopped(1, [&] { return !job.job().events(1, "conn.ready").empty(); });
  CHECK(report.kind == nnd::report::Kind::kHang);
  CHECK(report.blame == Blame::kNotNetwork);
  CHECK(ranks_of(report, report.waits.sinks[0].members) == std::vector{1});
}

TEST_CASE("a rank without the plugin", "[report]") {
  Reported job;
  job.spec().rank_environment[3]["NCCL_NET_PLUGIN"] = "none";
  REQUIRE(failures(job.job().run()) == "");
  const auto& asked = job.read(4);
  CHECK(asked.kind == nnd::report::Kind::kMissing);
  CHECK(asked.missing.ranks == std::set{3});
  CHECK(job.read().kind == nnd::report::Kind::kHealthy);  // nobody waited for it
}

TEST_CASE("another variable on one node", "[report]") {
  Reported job;
  for (const int rank : {2, 3}) job.spec().rank_environment[rank]["NCCL_IB_TC"] = "106";
  REQUIRE(failures(job.job().run()) == "");
  const auto& report = job.read();
  CHECK(report.kind == nnd::report::Kind::kHealthy);
  REQUIRE_FALSE(report.odd.empty());
  CHECK(report.odd[0].what == "NCCL_IB_TC");
  CHECK(report.odd[0].serious);
}
