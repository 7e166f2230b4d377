#include "scoreboard/warning.h"

#include "support/catch.h"

using namespace nnd::scoreboard;

TEST_CASE("NCCL's first warning is told with its time, and ours isn't it", "[said]") {
  const auto found = first_warning(
      "node0:7:9 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE\n"
      "\n[1795441778.678664] node0:7:9 [0] nccl-net-diag:0 NCCL WARN NET/DIAG QP-110: no answer\n"
      "\n[1795441778.000712] node0:7:9 [0] misc/ibvwrap.cc:307 NCCL WARN Call to x failed\n"
      "\n[1795441779.682012] node0:7:9 [0] misc/ibvwrap.cc:307 NCCL WARN Call to y failed\n");
  REQUIRE(found);
  CHECK(found->text == "Call to x failed");
  CHECK(found->real_us == 1'795'441'778'000'712);
}

TEST_CASE("NCCL said nothing itself", "[said]") {
  CHECK_FALSE(first_warning(""));
  CHECK_FALSE(first_warning("[1795441778.6] node0:7:9 [0] x:0 NCCL WARN NET/DIAG QP-110: no\n"));
}
