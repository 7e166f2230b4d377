#include "report/others.h"

#include "support/catch.h"

using namespace nnd::report;
using nccl_net_diag::Cause;
using nnd::foreign::Evidence;
using nnd::foreign::Fact;
using nnd::foreign::What;

namespace {

Fact fact(What what, std::optional<Cause> cause, const std::string& host = "node0",
          std::int64_t at_sec = 0) {
  Fact out;
  out.what = what;
  out.cause = cause;
  out.writer = {host, 1, {}};
  out.at_sec = at_sec;
  return out;
}

ForeignFindings judged(std::vector<Fact> facts, Evidence& evidence) {
  for (auto& one : facts) evidence.add(std::move(one));
  return findings_of(evidence);
}

}  // namespace

TEST_CASE("nothing failed", "[others]") {
  Evidence evidence;
  const auto others = judged({fact(What::kTransport, {})}, evidence);
  CHECK(others.first == nullptr);
  CHECK(others.kind == Kind::kRunning);
  CHECK(others.blame == Blame::kNone);
}

TEST_CASE("a QP that was not moved goes before what follows from it", "[others]") {
  Evidence evidence;
  const auto others = judged({fact(What::kEcho, {}), fact(What::kFailure, Cause::kWc12),
                              fact(What::kFailure, Cause::kQp110, "node1")},
                             evidence);
  REQUIRE(others.first != nullptr);
  CHECK(others.first->cause == Cause::kQp110);
  CHECK(others.blame == Blame::kNetwork);
  CHECK(others.echoes == 1);
}

TEST_CASE("what was told long after is not the first", "[others]") {
  Evidence evidence;
  const auto others = judged({fact(What::kFailure, Cause::kQp110, "node1", 1000),
                              fact(What::kFailure, Cause::kWc12, "node0", 900)},
                             evidence);
  CHECK(others.first->cause == Cause::kWc12);
}

TEST_CASE("a peer that doesn't answer may have died, unless a port went down", "[others]") {
  Evidence alone;
  CHECK(judged({fact(What::kFailure, Cause::kWc12)}, alone).blame == Blame::kOpen);
  Evidence both;
  auto port = fact(What::kSign, Cause::kAsyncPort, "node0", 899);
  port.dev = "mlx5_3:1";
  const auto others = judged({fact(What::kFailure, Cause::kWc12, "node0", 900), port}, both);
  REQUIRE(others.sign != nullptr);
  CHECK(others.headline()->dev == "mlx5_3:1");
  CHECK(others.blame == Blame::kNetwork);
  Evidence long_ago;
  port.at_sec = 100;
  CHECK(judged({fact(What::kFailure, Cause::kWc12, "node0", 900), port}, long_ago).blame ==
        Blame::kOpen);
  Evidence later;
  port.at_sec = 990;
  CHECK(judged({fact(What::kFailure, Cause::kWc12, "node0", 900), port}, later).sign == nullptr);
}

TEST_CASE("of connections that fail alike, the end that all share is told first", "[others]") {
  const auto lost = [](const std::string& host, const std::string& local,
                       const std::string& remote) {
    auto out = fact(What::kFailure, Cause::kWc12, host, 900);
    out.local = local;
    out.remote = remote;
    return out;
  };
  Evidence evidence;
  const bool elsewhere = GENERATE(false, true);
  std::vector<Fact> facts{lost("node4", "::ffff:10.0.0.5", "::ffff:10.0.0.4"),
                          lost("node3", "::ffff:10.0.0.4", "::ffff:10.0.0.3")};
  if (elsewhere) facts.push_back(lost("node7", "::ffff:10.0.0.8", "::ffff:10.0.0.9"));
  const auto others = judged(facts, evidence);
  CHECK(others.shared_end == (elsewhere ? "" : "::ffff:10.0.0.4"));
  CHECK(others.first->writer.host == (elsewhere ? "node4" : "node3"));
}

TEST_CASE("an echo is not a port's, which may have come back long ago", "[others]") {
  Evidence evidence;
  CHECK(judged({fact(What::kEcho, {}), fact(What::kSign, Cause::kAsyncPort)}, evidence).blame ==
        Blame::kOpen);
}

TEST_CASE("an echo alone is open; two releases are not the network's", "[others]") {
  Evidence echo, releases;
  CHECK(judged({fact(What::kEcho, {})}, echo).blame == Blame::kOpen);
  CHECK(judged({fact(What::kFailure, Cause::kIncVersion)}, releases).blame == Blame::kNotNetwork);
}

TEST_CASE("a refused connection blames an address that leads nowhere, and no other", "[others]") {
  auto refused = fact(What::kFailure, Cause::kOobBlocked);
  refused.error = 111;
  refused.peer = "10.0.0.2<5>";
  Evidence there, away, here;
  CHECK(judged({refused}, there).blame == Blame::kOpen);
  refused.error = 113;
  CHECK(judged({refused}, away).blame == Blame::kNetwork);
  refused.error = 111;
  refused.cause = Cause::kDevOob;
  refused.peer = "127.0.0.1<5>";
  CHECK(judged({refused}, here).blame == Blame::kNetwork);
}

TEST_CASE("a failed completion goes before what old kernels took for another collective",
          "[others]") {
  auto mismatch = fact(What::kFailure, Cause::kIncColl);
  mismatch.sure = nnd::foreign::Sure::kFollows;
  Evidence both;
  CHECK(judged({mismatch, fact(What::kFailure, Cause::kWc4)}, both).first->cause == Cause::kWc4);
}

TEST_CASE("Gloo's loopback address is the network's where ranks are on several hosts", "[others]") {
  auto refused = fact(What::kFailure, Cause::kDevOob, "");
  refused.source = nnd::foreign::Source::kOutput;
  refused.error = 111;
  refused.peer = "127.0.0.1";
  Evidence alone, hosts, route;
  CHECK(judged({refused}, alone).blame == Blame::kOpen);
  CHECK(judged({refused, fact(What::kRank, {}), fact(What::kRank, {}, "node1")}, hosts).blame ==
        Blame::kNetwork);
  refused.peer = "10.0.0.2";
  refused.error = 113;
  CHECK(judged({refused}, route).blame == Blame::kNetwork);
}

TEST_CASE("a store at an address of no host is not the network's", "[others]") {
  auto store = fact(What::kFailure, Cause::kOobStore);
  store.error = 110;
  Evidence open, setting;
  CHECK(judged({store}, open).blame == Blame::kOpen);
  store.by_setting = true;
  CHECK(judged({store}, setting).blame == Blame::kNotNetwork);
}

TEST_CASE("an IOMMU that refused an HCA its memory explains what failed of that", "[others]") {
  auto refused = fact(What::kFailure, Cause::kWc4, "node0", 900);
  auto sign = fact(What::kSign, Cause::kGdrAcs, "node0", 899);
  Evidence evidence, other;
  const auto others = judged({refused, sign}, evidence);
  REQUIRE(others.sign != nullptr);
  CHECK(others.headline()->cause == Cause::kGdrAcs);
  CHECK(judged({fact(What::kFailure, Cause::kQp110, "node0", 900), sign}, other).sign == nullptr);
}

namespace {

Fact kernels(What what, std::int64_t at_sec = 0) {
  Fact out;
  out.what = what;
  out.source = nnd::foreign::Source::kKernelLog;
  out.writer.host = "node0";
  out.at_sec = at_sec;
  out.text = "Out of memory: Killed process 1 (python)";
  out.pid = what == What::kSign ? 0 : 1;
  return out;
}

}  // namespace

TEST_CASE("a process of NCCL's log that the kernel killed", "[others]") {
  auto rank = fact(What::kRank, {});
  rank.rank = 7;
  rank.nranks = 16;
  Evidence evidence;
  const auto others =
      judged({rank, fact(What::kFailure, Cause::kWc12, "node1"), kernels(What::kKilled)}, evidence);
  CHECK(others.killed_first);
  CHECK(others.killed_rank == 7);
  CHECK(others.killed_host == "node0");
  CHECK(others.kind == Kind::kLost);
  CHECK(others.blame == Blame::kNotNetwork);
  CHECK(others.processes == 2);
}

TEST_CASE("a process that was killed is no cause of what failed before, or of itself", "[others]") {
  Evidence before, alone, stranger;
  CHECK_FALSE(judged({fact(What::kTransport, {}), fact(What::kFailure, Cause::kWc12, "node1", 900),
                      kernels(What::kKilled, 950)},
                     before)
                  .killed_first);
  CHECK_FALSE(judged({fact(What::kTransport, {}), fact(What::kFailure, Cause::kQp110, "node1"),
                      kernels(What::kKilled)},
                     alone)
                  .killed_first);
  Evidence nothing_failed, long_ago;
  CHECK_FALSE(
      judged({fact(What::kTransport, {}), kernels(What::kKilled)}, nothing_failed).killed_first);
  CHECK_FALSE(judged({fact(What::kTransport, {}), fact(What::kFailure, Cause::kWc12, "node1", 9000),
                      kernels(What::kKilled, 950)},
                     long_ago)
                  .killed_first);
  auto other = kernels(What::kKilled);
  other.pid = 2;
  const auto others = judged({fact(What::kTransport, {}), other}, stranger);
  CHECK(others.killed == nullptr);
  CHECK(others.kind == Kind::kRunning);
  CHECK(others.kernel.size() == 1);
}

TEST_CASE("a rank that left no dump, and that the kernel killed", "[others]") {
  auto rank = fact(What::kRank, {});
  rank.rank = 1;
  rank.nranks = 2;
  Evidence evidence;
  auto& dump = evidence.dumps.emplace_back();
  dump.rank = 0;
  dump.first_ns = dump.last_ns = 1;
  auto& group = dump.groups.emplace_back();
  group.ranks = {0, 1};
  group.last.seq = 5;
  group.unfinished.push_back(group.last);
  const auto others = judged({rank, kernels(What::kKilled)}, evidence);
  CHECK(others.killed_first);
  CHECK(others.killed_rank == 1);
}

TEST_CASE("a kernel's sign is of the HCA that NCCL has there", "[others]") {
  auto path = fact(What::kHcaPath, {});
  path.dev = "mlx5_3:1";
  path.pci = "0000:41:00.0";
  auto failure = fact(What::kFailure, Cause::kWc12, "node0", 900);
  failure.dev = "mlx5_3";
  auto sign = kernels(What::kSign, 895);
  sign.cause = Cause::kAsyncPort;
  sign.pci = path.pci;
  Evidence here, elsewhere, unknown;
  const auto others = judged({path, failure, sign}, here);
  REQUIRE(others.sign != nullptr);
  CHECK(others.sign->pci == path.pci);
  CHECK(others.blame == Blame::kNetwork);
  CHECK(judged({failure, sign}, unknown).blame == Blame::kOpen);
  sign.pci = "0000:42:00.0";
  CHECK(judged({path, failure, sign}, elsewhere).blame == Blame::kOpen);
}
