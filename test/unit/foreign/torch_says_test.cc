#include "foreign/torch_says.h"

#include <optional>
#include <string>
#include <utility>

#include "support/catch.h"

using nccl_net_diag::Cause;
using nnd::foreign::Fact;

namespace {

std::optional<Fact> told(const std::string& line) {
  std::optional<Fact> out;
  const nnd::foreign::TorchSays torch([&](Fact&& fact) {
    CHECK(!out);
    out = std::move(fact);
  });
  torch.take(line, 7);
  return out;
}

}  // namespace

TEST_CASE("a watchdog that ends by an error of CUDA's", "[torch-says]") {
  const auto now = told(
      "[rank12]:[E606 16:02:10.319952852 ProcessGroupNCCL.cpp:1595] [PG ID 4 PG GUID 10 Rank 1] "
      "Process group watchdog thread terminated with exception: CUDA error: device-side assert "
      "triggered");
  REQUIRE(now);
  CHECK(now->cause == Cause::kCudaFail);
  CHECK(now->detail == "CUDA error: device-side assert triggered");
  CHECK(now->writer.rank == 12);  // of the job, not of the group
  CHECK(now->line == 7);
  const auto old = told(
      "[E ProcessGroupNCCL.cpp:915] [Rank 1] NCCL watchdog thread terminated with exception: CUDA "
      "error: an illegal memory access was encountered");
  REQUIRE(old);
  CHECK(old->writer.rank == 1);
  CHECK_FALSE(
      told("[Rank 1] NCCL watchdog thread terminated with exception: [Rank 1] Watchdog "
           "caught collective operation timeout: WorkNCCL(SeqNum=23, OpType=ALLREDUCE)"));
}

TEST_CASE("two fingerprints that differ", "[torch-says]") {
  const std::string begin =
      "[rank1]: RuntimeError: Detected mismatch between collectives on ranks. Rank 1 is running "
      "collective: CollectiveFingerPrint(";
  const auto sized =
      told(begin +
           "SequenceNumber=2811, OpType=ALLREDUCE, TensorShape=[195812480], "
           "TensorDtypes=BFloat16), but Rank 0 is running collective: "
           "CollectiveFingerPrint(SequenceNumber=2812, OpType=ALLGATHER, TensorShape=[4, 2]).");
  REQUIRE(sized);
  CHECK(sized->cause == Cause::kIncColl);
  CHECK(sized->writer.rank == 1);
  CHECK(sized->detail ==
        "rank 1 called ALLREDUCE #2811 ([195812480]), and rank 0 called ALLGATHER #2812 ([4, 2])");
  const auto bare = told(begin +
                         "OpType=BARRIER), but Rank 3 is running collective: "
                         "CollectiveFingerPrint(OpType=BROADCAST, TensorShape=[1]).");
  REQUIRE(bare);
  CHECK(bare->detail == "rank 1 called BARRIER, and rank 3 called BROADCAST ([1])");
  CHECK_FALSE(told(begin + "OpType=ALLREDUCE, TensorShape=["));
}
