#include "diagnosis/unlike.h"

#include "diagnosis/catalogue.h"
#include "support/catch.h"

using namespace nnd::diagnosis;

TEST_CASE("both processes are named, with what differs and its values where they may be told") {
  const UnlikePeers seen{{0, "node0", 811},
                         {1, "node1", 812},
                         {{"NCCL_IB_TC", "106", "0"}, {"NCCL_ALGO", "Ring", ""}}};
  const Diagnosis told = diagnose(seen, Cause::kRoceTc);
  CHECK(told.cause == Cause::kRoceTc);
  CHECK(told.sentence ==
        "rank 0 of node0 (pid 811), this process, and rank 1 of node1 (pid 812) differ in "
        "NCCL_IB_TC (106 here, 0 there), NCCL_ALGO (Ring here)");
  CHECK(told.remedy ==
        "Set NCCL_IB_TC, NCCL_ALGO alike on every node (mpirun -x, or the launcher's own way).");
}

TEST_CASE("what is no variable has its cause's remedy, and what is not known is left out") {
  const UnlikePeers seen{{}, {}, {{"GID type", "", ""}}};
  const Diagnosis told = diagnose(seen, Cause::kGidDiff);
  CHECK(told.sentence == "this process and a process differ in GID type");
  CHECK(told.remedy == explain(Cause::kGidDiff).remedy);
}
