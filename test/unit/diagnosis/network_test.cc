// One word on the network, and the worst cause with its device and peer.
#include "diagnosis/network.h"

#include "support/catch.h"

using namespace nnd::diagnosis;

namespace {

NetworkHistory history() {
  NetworkHistory seen;
  seen.connections = 4;
  seen.bytes = 2'500'000'000;
  return seen;
}

Stall stall(Wait wait, double sec) {
  Stall out;
  out.wait = wait;
  out.sec = sec;
  out.place = "mlx5_0:1";
  out.peer = "10.0.0.9";
  return out;
}

}  // namespace

TEST_CASE("what NCCL got over is no failed network") {
  NetworkHistory seen;
  seen.failures = 1;
  seen.cause = Cause::kQp110;
  seen.device = "mlx5_0:1";
  seen.peer = "10.0.1.9";
  CHECK(judge(seen).verdict == "failed");
  seen.all_over = true;
  CHECK(judge(seen).verdict == "degraded");
  CHECK(judge(seen).sentence.find("got over: QP-110 on mlx5_0:1 towards 10.0.1.9") !=
        std::string::npos);
}

TEST_CASE("a network in which nothing happened is healthy, whoever waited for whom") {
  NetworkHistory seen = history();
  CHECK(judge(seen).verdict == "healthy");
  CHECK(judge(seen).sentence == "4 connections moved 2.500 GB, nothing failed.");
  seen.waited = stall(Wait::kNothingCame, 42);
  CHECK(judge(seen).verdict == "healthy");
  CHECK(judge(seen).sentence ==
        "4 connections moved 2.500 GB, nothing failed; the longest wait for a peer was 42 s "
        "(nothing-came on mlx5_0:1 towards 10.0.0.9).");
}

TEST_CASE("the worst comes first: a failure, a stall, a port that got worse") {
  NetworkHistory seen = history();
  seen.worse_port = true;
  CHECK(judge(seen).verdict == "degraded");
  seen.stalled = stall(Wait::kStuckSend, 34);
  CHECK(judge(seen).verdict == "stalled");
  CHECK(judge(seen).sentence ==
        "Stalled for up to 34 s (stuck-send on mlx5_0:1 towards 10.0.0.9); 4 connections moved "
        "2.500 GB.");
  seen.failures = 2;
  seen.cause = Cause::kWc12;
  seen.device = "mlx5_1:1";
  seen.peer = "10.0.1.9";
  CHECK(judge(seen).verdict == "failed");
  CHECK(judge(seen).sentence ==
        "2 failures, the first of them WC-12 on mlx5_1:1 towards 10.0.1.9; 4 connections moved "
        "2.500 GB.");
}
