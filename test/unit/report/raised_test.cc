#include "report/raised.h"

#include "report/others.h"
#include "support/catch.h"

using namespace nnd::report;
using nccl_net_diag::Cause;
using nnd::foreign::Evidence;
using nnd::foreign::Fact;
using nnd::foreign::Source;
using nnd::foreign::What;

namespace {

Fact raised(int rank, const std::string& text, std::int64_t at_sec,
            const std::string& attempt = "0") {
  Fact out;
  out.what = What::kRaised;
  out.source = Source::kErrorFile;
  out.writer.rank = rank;
  out.text = text;
  out.place = "train.py:212 in step";
  out.at_sec = at_sec;
  out.file = "/logs/none/attempt_" + attempt + "/" + std::to_string(rank) + "/error.json";
  return out;
}

void add(Evidence& evidence, std::vector<Fact> facts) {
  for (auto& one : facts) evidence.add(std::move(one));
}

}  // namespace

TEST_CASE("a program's own exception goes before what follows from it", "[raised]") {
  Evidence evidence;
  add(evidence,
      {raised(0, "DistBackendError: NCCL error in: x.cpp:1", 100),
       raised(2, "RuntimeError: shapes differ", 101), raised(1, "ValueError: later", 200)});
  const auto found = raised_of(evidence);
  REQUIRE(found);
  CHECK(found->told->text == "RuntimeError: shapes differ");
  CHECK(found->own);
  CHECK(found->ranks == std::set{2});
  CHECK(found->one_node);
  const auto others = findings_of(evidence);
  CHECK(others.raised_first);
  CHECK(others.kind == Kind::kLost);
  CHECK(others.blame == Blame::kNotNetwork);
}

TEST_CASE("what only echoes, or may be the network's, is no program's own", "[raised]") {
  for (const std::string text :
       {"DistBackendError: NCCL error", "RuntimeError: NCCL communicator was aborted",
        "DistNetworkError: The client socket has timed out", "ConnectionRefusedError: [Errno 111]",
        "TimeoutError: ", "SignalException: Process 1 got signal: 15"}) {
    Evidence evidence;
    add(evidence, {raised(0, text, 100), raised(1, "ValueError: much later", 200)});
    const auto found = raised_of(evidence);
    REQUIRE(found);
    CHECK_FALSE(found->own);
    const auto others = findings_of(evidence);
    CHECK_FALSE(others.raised_first);
    CHECK(others.blame == Blame::kNone);
  }
}

TEST_CASE("the last attempt counts, and all that raised the same", "[raised]") {
  Evidence evidence;
  add(evidence, {raised(0, "KeyError: 'old'", 10), raised(0, "KeyError: 'x'", 100, "1"),
                 raised(3, "KeyError: 'x'", 101, "1")});
  const auto found = raised_of(evidence);
  REQUIRE(found);
  CHECK(found->told->text == "KeyError: 'x'");
  CHECK(found->ranks == std::set{0, 3});
  CHECK_FALSE(raised_of(Evidence()));
}

TEST_CASE("an exception goes before an echo of NCCL's, and not before a cause of its own",
          "[raised]") {
  Fact nccl;
  nccl.what = What::kFailure;
  nccl.cause = Cause::kWc12;
  nccl.writer = {"node0", 1, {}};
  Evidence echo, own;
  add(echo, {nccl, raised(2, "RuntimeError: shapes differ", 101)});
  CHECK(findings_of(echo).raised_first);
  nccl.cause = Cause::kQp110;
  add(own, {nccl, raised(2, "RuntimeError: shapes differ", 101)});
  const auto others = findings_of(own);
  CHECK_FALSE(others.raised_first);
  CHECK(others.headline()->cause == Cause::kQp110);
}

TEST_CASE("a data loader's worker that the kernel killed", "[raised]") {
  Fact killed;
  killed.what = What::kKilled;
  killed.source = Source::kKernelLog;
  killed.file = "dmesg";
  killed.pid = 13;
  killed.text = "Out of memory: Killed process 13 (python)";
  const std::string text = GENERATE("DataLoader worker (pid 13) is killed by signal: Killed. ",
                                    "DataLoader worker (pid(s) 12, 13) exited unexpectedly");
  Evidence evidence, other;
  add(evidence, {raised(1, "RuntimeError: " + text, 100), killed});
  const auto found = raised_of(evidence);
  REQUIRE(found);
  CHECK(found->own);
  REQUIRE(found->worker != nullptr);
  CHECK(found->worker->pid == 13);
  killed.pid = 14;
  add(other, {raised(1, "RuntimeError: " + text, 100), killed});
  CHECK(raised_of(other)->worker == nullptr);
}
