#include "cli/common/nccl_lines.h"

#include "support/catch.h"

using nnd::cli::read_nccl_lines;

TEST_CASE("channels and network as NCCL prints them", "[nccl-lines]") {
  const auto lines = read_nccl_lines(
      "vm:1:1 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:2/IB/SHARP [RO]; OOB "
      "lo:127.0.0.1<0>\n"
      "vm:1:1 [0] NCCL INFO Using network IB\n"
      "vm:1:1 [0] NCCL INFO Channel 00/02 :  0  1  2  3\n"
      "vm:1:1 [0] NCCL INFO Channel 00/0 : 15[7] -> 0[0] [receive] via NET/IB/0\n"
      "vm:1:1 [0] NCCL INFO Channel 00/0 : 15[7] -> 0[0] [receive] via NET/IB/0\n"
      "vm:1:1 [0] NCCL INFO Channel 03/1 : 0[11000] -> 8[0] [send] via NET/IB/1/GDRDMA/Shared\n"
      "vm:1:1 [0] NCCL INFO Channel 00 : 0[0] -> 1[1] via SHM/direct/direct\n"
      "vm:1:1 [0] a.cc:7 NCCL WARN no luck\n"
      "vm:1:1 [0] nccl-net-diag:0 NCCL WARN NET/DIAG QP-110: none of its own\n"
      "vm:1:1 [0] a.cc:7 NCCL WARN no luck\n");
  CHECK(lines.network == "IB");
  CHECK(lines.warnings == std::vector<std::string>{"no luck"});
  REQUIRE(lines.channels.size() == 2);
  CHECK(lines.channels[0].channel == 0);
  CHECK_FALSE(lines.channels[0].sends);
  CHECK(lines.channels[0].from == 15);
  CHECK(lines.channels[0].to == 0);
  CHECK(lines.channels[1].channel == 3);
  CHECK(lines.channels[1].sends);
  CHECK(lines.channels[1].to == 8);
  CHECK(lines.channels[1].device == 1);
}
