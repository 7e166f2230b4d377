// The first paragraph where one log names whom its process waited for.
#include "cli/report/named_text.h"

#include "cli/report/verdict.h"
#include "support/catch.h"
#include "unit/report/made.h"

using nnd::report::analyse;
using nnd::report::test::Made;
namespace t = nnd::report::test;

namespace {

std::string line(const std::string& kind, const std::string& cause,
                 const std::string& other_task = {}) {
  Made made;
  made.load(0, 0, 4);
  made.connect(0, 3);
  auto out = made.event(0, t::EventId::kJobStall, 12);
  out.cause = cause;
  out.fix = "Look at it.";
  out.awaited.kind = kind;
  out.awaited.proc = Made::proc(3);
  out.awaited.host = Made::host(3);
  out.awaited.place = "mlx5_1:1";
  out.awaited.rank = 3;
  out.awaited.pid = 103;
  out.awaited.task.kind = "AllReduce";
  out.awaited.task.seq = 11;
  out.awaited.other_proc = Made::proc(2);
  out.awaited.other_host = Made::host(2);
  out.awaited.other_rank = 2;
  out.awaited.other_task.kind = other_task;
  made.add(out);
  t::box(made, 0, 30, 0, 0);
  const auto report = analyse(made.input);
  REQUIRE(report.named);
  CHECK(nnd::cli::named_cause(report) == cause);
  CHECK(nnd::cli::remedy(report) == "Look at it.");
  return nnd::cli::verdict(report);
}

}  // namespace

TEST_CASE("whom all wait for is named first, and cleared is only what is proved", "[named]") {
  CHECK(line("idle", "HANG-RANK")
            .starts_with(
                "not the network: rank 3 (host1, pid 103) has asked the network for nothing, "
                "and was given AllReduce #11 last; others wait for it in the end"));
  CHECK(line("ended", "HANG-ENDED").starts_with("rank 3 (host1, pid 103) has ended; others wait"));
  CHECK(line("stopped", "HANG-STOPPED")
            .starts_with("rank 3 (host1, pid 103) does not answer, while the kernel of its host "
                         "does"));
  CHECK(line("gone", "HANG-NODE")
            .starts_with("rank 3 (host1, pid 103) does not answer, and nor does its host"));
  CHECK(line("port", "ASYNC-PORT").starts_with("mlx5_1:1 of rank 3 (host1, pid 103): ASYNC-PORT"));
  CHECK(line("pair", "HANG-DATA")
            .starts_with("between rank 3 (host1, pid 103) and rank 2 (host1): what one sends"));
  CHECK(line("cycle", "HANG-RING")
            .starts_with("not the network: ranks wait for each other in a ring: rank 3 (host1, "
                         "pid 103) in AllReduce #11, and rank 2 (host1)"));
  CHECK(line("cycle", "HANG-RING", "ReduceScatter")
            .starts_with("not the network: mismatched collectives: rank 3 (host1, pid 103) is in "
                         "AllReduce #11, and rank 2 (host1) in ReduceScatter"));
  CHECK(line("meets", "HANG-RANK")
            .starts_with("rank 3 (host1, pid 103) waits in NCCL's bootstrap for other ranks, and "
                         "was given AllReduce #11 last"));
  CHECK(line("failed", "QP-110").starts_with("rank 3 (host1, pid 103): QP-110"));
}

TEST_CASE("in what a pair that hangs differs goes with it, as one of the two told", "[named]") {
  const bool same_pair = GENERATE(true, false);
  Made made;
  made.load(0, 0, 4);
  made.connect(0, 3);
  auto differs = made.event(0, t::EventId::kPeerDiffers, 2);
  differs.severity = t::Severity::kWarn;
  differs.cause = "INC-QPS";
  differs.msg = "Rank 0 and rank 3 differ in NCCL_IB_QPS_PER_CONNECTION (1 here, 4 there).";
  differs.fix = "Set it alike.";
  differs.peer.proc = Made::proc(same_pair ? 3 : 2);
  made.add(differs);
  auto out = made.event(0, t::EventId::kJobStall, 12);
  out.cause = "HANG-DATA";
  out.fix = "Look at it.";
  out.awaited.kind = "pair";
  out.awaited.proc = Made::proc(3);
  out.awaited.other_proc = Made::proc(0);
  made.add(out);
  t::box(made, 0, 30, 0, 0);
  const auto report = analyse(made.input);
  REQUIRE(report.named);
  CHECK(nnd::cli::named_cause(report) == (same_pair ? "INC-QPS" : "HANG-DATA"));
  CHECK(nnd::cli::remedy(report) == (same_pair ? "Set it alike." : "Look at it."));
  const std::string line = nnd::cli::verdict(report);
  INFO(line);
  CHECK((line.find("(1 here, 4 there)") != line.npos) == same_pair);
}
