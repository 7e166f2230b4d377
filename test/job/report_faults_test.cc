// Real NCCL jobs of eight and sixteen ranks with one fault each: what is said first of them.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "job/rails.h"
#include "support/catch.h"

using namespace softcuda;
using nnd::report::Blame;
using nnd::report::Kind;
using nnd::test::check;
using nnd::test::rails;
using nnd::test::ranks_of;
using nnd::test::ReportedJob;
using nnd::test::Said;
using What = Action::Kind;

namespace {

int last_rank(int gpus) { return 2 * gpus - 1; }

// All but one take part.
void add_without(std::vector<Action>& actions, int ranks, int missing, const Action& action) {
  for (int rank = 0; rank < ranks; ++rank) {
    if (rank == missing) continue;
    actions.push_back(action);
    actions.back().only_rank = rank;
  }
}

// Until all that take part have told, and the one that doesn't has been silent for as long.
bool hangs(const ReportedJob& job, int gpus, int idle) {
  return job.told(idle, "idle") &&
         std::any_of(job.spec().rank_environment.begin(), job.spec().rank_environment.end(),
                     [&](const auto& rank) {
                       return rank.first / gpus != idle / gpus &&
                              job.told(rank.first, "nothing-came");
                     });
}

void healthy(int gpus) {
  ReportedJob job(rails(gpus), gpus);
  job.job().run();
  check(job.read(), {Kind::kHealthy, Blame::kNone, {fmt::format("{} processes", 2 * gpus)}});
}

void dead_process(int gpus) {
  ReportedJob job(rails(gpus), gpus);
  const int guilty = gpus;
  job.spec().actions = {{.kind = What::kCreate},
                        {.kind = What::kCollective, .bytes = 4000000},
                        {.kind = What::kMeet},
                        {.kind = What::kDie, .only_rank = guilty},
                        {.kind = What::kCollective, .bytes = 40000000, .iterations = 4},
                        {.kind = What::kDestroy}};
  job.job().run();
  check(job.read(), {Kind::kLost,
                     Blame::kNotNetwork,
                     {fmt::format("not the network: rank {} (node1) ", guilty)}});
}

void dead_node(int gpus) {
  ReportedJob job(rails(gpus), gpus);
  job.spec().actions = {{.kind = What::kCreate},
                        {.kind = What::kCollective, .bytes = 4000000},
                        {.kind = What::kMeet}};
  for (int rank = gpus; rank < 2 * gpus; ++rank)
    job.spec().actions.push_back({.kind = What::kDie, .only_rank = rank});
  job.spec().actions.push_back({.kind = What::kCollective, .bytes = 40000000, .iterations = 4});
  job.spec().actions.push_back({.kind = What::kDestroy});
  job.job().run();
  check(job.read(), {Kind::kLost, Blame::kNotNetwork, {"not the network: node1 "}});
}

void cut_cable(int gpus) {
  ReportedJob job(rails(gpus, R"(
[[fault]]
kind = "link-down"
host = "node1"
hca = "mlx5_1"
after_messages = 40
)"),
                  gpus);
  job.job().run();
  check(job.read(), {Kind::kFailed, Blame::kNetwork, {"mlx5_1 of node1", "ASYNC-PORT"}});
}

// Each message of a port of node1 waits for so long, from the nth on that a process gives it.
std::string slow_fault(int delay_ms, int nth) {
  return fmt::format(R"(
[[fault]]
kind = "hold-wr"
host = "node1"
hca = "mlx5_1"
delay_ms = {}
nth = {}
)",
                     delay_ms, nth);
}

const Said kSlowSaid{Kind::kSlow, Blame::kNetwork, {"mlx5_1 of node1 is slow"}};

void slow_port(int gpus) {
  ReportedJob job(rails(gpus, slow_fault(100, 1)), gpus);
  job.spec().actions[1].iterations = 10;
  job.job().run();
  check(job.read(), kSlowSaid);
}

void bond(int gpus) {
  ReportedJob job(rails(gpus, "", false, R"(
[[host.netdev]]
name = "bond0"
kind = "bond"
slaves = ["eno1", "eno2"]
speed_mbps = 200000
address = "10.1.{h}.11/24"
[[host.hca]]
name = "mlx5_bond_0"
netdev = "bond0"
speed_mbps = 200000
pci = "0000:13:01.0"
parent = "0000:10:01.0/0000:11:00.0/0000:12:00.0"
)"),
                  gpus);
  job.spec().environment["NCCL_IB_HCA"] = "=mlx5_bond_0";
  job.job().run();
  check(job.read(), {Kind::kFailed,
                     Blame::kNetwork,
                     {"mlx5_bond_0 (bond0) of node0", "mlx5_bond_0 (bond0) of node1"}});
}

void wrong_gid(int gpus) {
  ReportedJob job(rails(gpus, "", true), gpus);
  job.job().run();
  check(job.read(), {Kind::kFailed, Blame::kNetwork, {"mlx5_1 (eth1) of node1"}});
}

void other_environment(int gpus) {
  ReportedJob job(rails(gpus), gpus);
  for (int rank = gpus; rank < 2 * gpus; ++rank)
    job.spec().rank_environment[rank]["NCCL_IB_TC"] = "106";
  job.job().run();
  const auto& report = job.read();
  check(report, {Kind::kHealthy, Blame::kNone, {}});
  REQUIRE_FALSE(report.odd.empty());
  CHECK(report.odd[0].what == "NCCL_IB_TC");
  CHECK(report.odd[0].serious);
}

void missing_rank(int gpus) {
  ReportedJob job(rails(gpus), gpus);
  const int guilty = gpus;
  job.spec().environment["NCCL_NET_DIAG_STALL_SEC"] = "1";
  job.spec().actions = {{.kind = What::kCreate},
                        {.kind = What::kCollective, .bytes = 4000000, .iterations = 3}};
  add_without(job.spec().actions, 2 * gpus, guilty, {.kind = What::kCollective, .bytes = 4000000});
  job.spec().actions.push_back({.kind = What::kMeet});
  const auto& report = job.read_hanging([&] { return hangs(job, gpus, guilty); });
  check(report, {Kind::kHang,
                 Blame::kNotNetwork,
                 {fmt::format("not the network: rank {} (node1)", guilty), "AllReduce #"}});
  REQUIRE_FALSE(report.waits.apart.empty());
  CHECK(ranks_of(report, report.waits.apart[0].others.members) == std::vector{guilty});
}

void mismatched(int gpus) {
  ReportedJob job(rails(gpus), gpus);
  const int guilty = last_rank(gpus);
  job.spec().environment["NCCL_NET_DIAG_STALL_SEC"] = "1";
  job.spec().actions = {{.kind = What::kCreate},
                        {.kind = What::kCollective, .bytes = 4000000, .iterations = 3}};
  add_without(job.spec().actions, 2 * gpus, guilty, {.kind = What::kCollective, .bytes = 4000000});
  job.spec().actions.push_back({.kind = What::kCollective,
                                .collective = Collective::kReduceScatter,
                                .bytes = 1000000,
                                .only_rank = guilty});
  job.spec().actions.push_back({.kind = What::kMeet});
  const auto waits = [&](int rank) {
    return job.told(rank, "nothing-came") || job.told(rank, "no-receive") || job.told(rank, "idle");
  };
  const auto& report = job.read_hanging([&] { return waits(guilty) && (waits(0) || waits(gpus)); });
  check(report, {Kind::kHang,
                 Blame::kNotNetwork,
                 {"not the network: mismatched collectives", "AllReduce #", "ReduceScatter #",
                  fmt::format("rank {} (node1)", guilty)}});
  REQUIRE_FALSE(report.waits.apart.empty());
  CHECK(ranks_of(report, report.waits.apart[0].others.members) == std::vector{guilty});
}

void paused(int gpus) {
  ReportedJob job(rails(gpus), gpus);
  const int guilty = gpus;
  job.spec().environment["NCCL_NET_DIAG_STALL_SEC"] = "1";
  // Outside of a collective: the emulated HCA of a process that is stopped stops with it.
  job.spec().actions = {{.kind = What::kCreate},
                        {.kind = What::kCollective, .bytes = 4000000, .iterations = 3},
                        {.kind = What::kCompute, .ms = 100000, .only_rank = guilty},
                        {.kind = What::kCollective, .bytes = 4000000}};
  const auto waits = [&](int rank) {
    return job.told(rank, "nothing-came") || job.told(rank, "no-receive");
  };
  check(job.read_stopped(guilty, [&] { return waits(0) || waits(last_rank(gpus)); }),
        {Kind::kHang,
         Blame::kNotNetwork,
         {fmt::format("not the network: rank {} (node1) does not run", guilty)}});
}

void memlock(int gpus) {
  ReportedJob job(rails(gpus, R"(
[[fault]]
kind = "fail-call"
host = "node1"
verb = "ibv_reg_mr_iova2"
errno = "ENOMEM"
times = 0
)"),
                  gpus);
  job.job().run();
  check(job.read(), {Kind::kFailed, Blame::kNetwork, {"node1: "}});
}

void plane_down(int gpus) {
  std::string faults;
  for (int hca = 0; hca < gpus / 2; ++hca)
    faults += fmt::format(R"(
[[fault]]
kind = "fail-wr"
hca = "mlx5_{}"
nth = 2
times = 0
status = "RETRY_EXC_ERR"
)",
                          hca);
  ReportedJob job(rails(gpus, faults), gpus);
  job.job().run();
  check(job.read(), {Kind::kFailed, Blame::kNetwork, {"what carries 10.65.0.0/"}});
}

struct Fault {
  const char* name;
  std::function<void(int gpus)> play;
};

const std::vector<Fault> kFaults{{"none", healthy},
                                 {"a dead process", dead_process},
                                 {"a dead node", dead_node},
                                 {"a cut cable", cut_cable},
                                 {"a slow port", slow_port},
                                 {"a bond", bond},
                                 {"a wrong address on one node", wrong_gid},
                                 {"another environment on one node", other_environment},
                                 {"a rank that is missing", missing_rank},
                                 {"mismatched collectives", mismatched},
                                 {"a paused rank", paused},
                                 {"memory that can't be locked on one node", memlock},
                                 {"a plane that is down", plane_down}};

}  // namespace

TEST_CASE("eight ranks", "[report-8]") {
  const auto fault = GENERATE(range(std::size_t{0}, kFaults.size()));
  DYNAMIC_SECTION(kFaults[fault].name) { kFaults[fault].play(4); }
}

// At first each message takes a millisecond more, so that the watch has windows to compare with.
TEST_CASE("a port that becomes slow is told by its own process alone", "[report-8]") {
  ReportedJob job(rails(4, slow_fault(80, 8000) + slow_fault(1, 1)), 4);
  job.spec().environment["NCCL_NET_DIAG_STALL_SEC"] = "0.8";
  job.spec().actions[1] = {.kind = What::kCollective, .bytes = 8000000, .iterations = 150};
  job.job().run();
  for (int rank = 0; rank < 8; ++rank) {
    INFO("rank " << rank);
    CHECK(job.told(rank, "slow") == (rank == 5));
  }
  for (const auto& stall : job.job().events(5, "conn.stall")) {
    INFO(stall.dump());
    CHECK(stall["kind"] == "slow");
    CHECK(stall["cause"] == "HANG-DATA");
    CHECK(stall["dev"]["name"] == "mlx5_1");
    CHECK(stall["peer"]["gid"].get<std::string>().starts_with("::ffff:10.65."));
  }
  check(job.read(), kSlowSaid);
}

TEST_CASE("sixteen ranks", "[report-16]") {
  const auto fault = GENERATE(range(std::size_t{0}, kFaults.size()));
  DYNAMIC_SECTION(kFaults[fault].name) { kFaults[fault].play(8); }
}
