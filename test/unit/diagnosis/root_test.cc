#include "diagnosis/root.h"

#include "support/catch.h"

using namespace nnd::diagnosis;

namespace {

Root root(RootKind kind) {
  Root out;
  out.kind = kind;
  out.sec = 12;
  out.waited = 10;
  out.who = {3, "node1", 812};
  out.doing = {"AllReduce", 11, 0xc0, 4096, -1};
  out.here = {"AllReduce", 12, 0xc0, 4096, -1};
  return out;
}

}  // namespace

TEST_CASE("a root that only takes its time is no warning, and all else is") {
  CHECK_FALSE(is_warning(RootKind::kNone));
  CHECK_FALSE(is_warning(RootKind::kIdle));
  CHECK_FALSE(is_warning(RootKind::kCycle));
  CHECK_FALSE(is_warning(RootKind::kMeets));
  for (const RootKind kind : {RootKind::kStopped, RootKind::kFailed, RootKind::kPair,
                              RootKind::kPort, RootKind::kGone, RootKind::kEnded})
    CHECK(is_warning(kind));
}

TEST_CASE("the sentence names the process, what it was given, and the remedy its pid") {
  const Diagnosis idle = diagnose(root(RootKind::kIdle));
  CHECK(idle.cause == Cause::kHangRank);
  CHECK(idle.sentence ==
        "this process has waited 10.0 s, and in the end for rank 3 of node1 (pid 812), which waits "
        "for nobody: NCCL has asked the network for nothing there for 12.0 s; the last that it was "
        "given is AllReduce #11, this process waits in AllReduce #12");
  CHECK(idle.remedy ==
        "Not the network: look at what that process does on node1 (py-spy dump --pid 812).");
  Root self = root(RootKind::kIdle);
  self.self = true;
  self.here = {};
  CHECK(diagnose(self).sentence ==
        "others wait for this process, rank 3 of node1 (pid 812), which waits for nobody: NCCL has "
        "asked the network for nothing there for 12.0 s; the last that it was given is AllReduce "
        "#11");
}

TEST_CASE("who waits in the bootstrap is not said to wait for nobody") {
  const Diagnosis meets = diagnose(root(RootKind::kMeets));
  CHECK(meets.cause == Cause::kHangRank);
  CHECK(meets.sentence ==
        "this process has waited 10.0 s, and in the end for rank 3 of node1 (pid 812), where a "
        "call has waited 12.0 s for other ranks in NCCL's bootstrap, as when connections are made; "
        "the last that it was given is AllReduce #11, this process waits in AllReduce #12");
  CHECK(meets.remedy.ends_with("look at what that process does on node1 (py-spy dump --pid 812)."));
}

TEST_CASE("what isn't known of a root is left out") {
  Root one;
  one.kind = RootKind::kEnded;
  one.waited = 10;
  CHECK(diagnose(one).sentence ==
        "this process has waited 10.0 s, and in the end for a process, which has ended: the kernel "
        "of its host says that nobody has its port");
}

TEST_CASE("each kind has a cause of its own, and a failure that of what failed") {
  CHECK(diagnose(root(RootKind::kStopped)).cause == Cause::kHangStopped);
  CHECK(diagnose(root(RootKind::kGone)).cause == Cause::kHangNode);
  CHECK(diagnose(root(RootKind::kEnded)).cause == Cause::kHangEnded);
  CHECK(diagnose(root(RootKind::kPort)).cause == Cause::kAsyncPort);
  Root failed = root(RootKind::kFailed);
  failed.cause = Cause::kQp110;
  failed.place = "mlx5_0:1";
  CHECK(diagnose(failed).cause == Cause::kQp110);
  CHECK(
      diagnose(failed).sentence ==
      "this process has waited 10.0 s, and in the end for rank 3 of node1 (pid 812), where QP-110 "
      "at mlx5_0:1 failed 12.0 s ago");
  Root pair = root(RootKind::kPair);
  pair.other = {4, "node2", 99};
  CHECK(diagnose(pair).cause == Cause::kHangData);
  CHECK(
      diagnose(pair).sentence ==
      "this process has waited 10.0 s, and in the end for what rank 3 of node1 (pid 812) and rank "
      "4 of node2 (pid 99) send each other: both are alive and wait for 12.0 s, one for what the "
      "other has sent");
  Root ring = root(RootKind::kCycle);
  ring.other = {4, "node2", 99};
  ring.other_doing = {"Broadcast", 11, 0xc0, 1 << 20, -1};
  CHECK(diagnose(ring).cause == Cause::kHangRing);
  CHECK(
      diagnose(ring).sentence ==
      "this process has waited 10.0 s, in a ring of processes that wait for each other: rank 3 of "
      "node1 (pid 812) is in AllReduce #11 (4.1 kB), rank 4 of node2 (pid 99) in Broadcast #11 "
      "(1.0 MB)");
}
