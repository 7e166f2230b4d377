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

Others judged(std::vector<Fact> facts, Evidence& evidence) {
  for (auto& one : facts) evidence.add(std::move(one));
  return others_of(evidence);
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
  auto refused = fact(What::kFailure, Cause::kDevOob);
  refused.error = 111;
  refused.peer = "10.0.0.2<5>";
  Evidence there, here;
  CHECK(judged({refused}, there).blame == Blame::kOpen);
  refused.peer = "127.0.0.1<5>";
  CHECK(judged({refused}, here).blame == Blame::kNetwork);
}
