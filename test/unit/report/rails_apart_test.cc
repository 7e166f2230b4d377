// Rails that are swapped, and GIDs that reach nobody.
#include "report/rails_apart.h"

#include <array>

#include "report/report.h"
#include "support/catch.h"
#include "unit/report/made.h"

using namespace nnd::report;
using nnd::report::test::Made;
using nnd::report::test::ranks;
namespace t = nnd::report::test;

TEST_CASE("the address of a peer without a log shows that rails are swapped", "[rails]") {
  Made made;
  const auto hca = [&](int index, const char* gid, const char* subnet) {
    auto out = made.event(0, t::EventId::kHcaPort, 0);
    out.dev.name = "mlx5_" + std::to_string(index);
    out.dev.port = 1;
    out.dev.gid = gid;
    out.dev.subnet = subnet;
    out.verdict = "taken";
    made.add(out);
    return out.dev;
  };
  auto load = made.event(0, t::EventId::kPluginLoad, 0);
  load.launch.rank = 0;
  made.add(load);
  const auto dev = hca(0, "::ffff:10.1.0.2", "10.1.0.0/24");
  hca(1, "::ffff:10.1.1.2", "10.1.1.0/24");
  const auto fails = [&](const char* gid) {
    auto out = made.event(0, t::EventId::kConnFail, 3);
    out.severity = t::Severity::kError;
    out.cause = "RC-6";
    out.conn = 1;
    out.failure = 1;
    out.dev = dev;
    out.peer.gid = gid;
    made.add(out);
  };
  SECTION("it is in another rail of this node") {
    fails("::ffff:10.1.1.3");
    const auto report = analyse(made.input);
    REQUIRE(report.rails);
    CHECK(report.rails->address == "10.1.1.3");
    CHECK(report.rails->subnet == "10.1.1.0/24");
    CHECK(report.rails->dev == "mlx5_1");
    CHECK(report.blame == Blame::kNetwork);
  }
  SECTION("it is where it should be") {
    fails("::ffff:10.1.0.3");
    CHECK_FALSE(analyse(made.input).rails);
  }
  SECTION("connections between networks are made all the same") {
    fails("::ffff:10.1.1.3");
    auto ready = made.event(0, t::EventId::kConnReady, 2);
    ready.conn = 2;
    ready.dev = dev;
    ready.peer.gid = "::ffff:10.1.1.9";
    made.add(ready);
    CHECK_FALSE(analyse(made.input).rails);
  }
  SECTION("each node may have networks of its own") {
    fails("::ffff:10.9.0.3");
    CHECK_FALSE(analyse(made.input).rails);
  }
}

TEST_CASE("a GID that was known to be bad is why a QP did not fit the port", "[failures]") {
  Made made;
  made.ring(2);
  auto bad = made.event(0, t::EventId::kPolicyWarn, 0.5);
  bad.severity = t::Severity::kWarn;
  bad.cause = "GID-WRONG";
  bad.dev = Made::dev(0);
  made.add(bad);
  made.fail(0, 1, "QP-22", 3);
  const auto report = analyse(made.input);
  REQUIRE(report.kind == Kind::kFailed);
  CHECK(report.first.roots[0].told->cause == "GID-WRONG");
}

TEST_CASE("a QP that was to reach no GID fails of the other end", "[failures]") {
  std::array<Made, 2> all;  // what is told stays theirs
  const auto job = [&](bool with_log) {
    Made& made = all[with_log ? 1 : 0];
    for (const int rank : {0, 1}) made.load(rank, 0, 2);
    auto refused = made.of(0, 1, t::Direction::kRecv, t::EventId::kQpTransition, 1);
    refused.severity = t::Severity::kWarn;
    refused.cause = "QP-22";
    refused.failure = 1;
    refused.dev.gid = "::ffff:10.0.0.1";
    refused.peer.gid.clear();
    made.add(refused);
    if (with_log) {
      auto warned = made.event(0, t::EventId::kPolicyWarn, 0.5);
      warned.severity = t::Severity::kWarn;
      warned.cause = "GID-WRONG";
      warned.dev = Made::dev(0);
      made.add(warned);
      made.fail(0, 1, "QP-61", 1.2);
    }
    return analyse(made.input);
  };
  const auto both = job(true);
  REQUIRE(!both.first.roots.empty());
  CHECK(both.first.roots[0].told->cause == "GID-WRONG");
  CHECK(ranks(both.picture, {both.first.roots[0].member}) == std::vector{0});
  const auto one = job(false);
  CHECK(one.kind == Kind::kFailed);
  CHECK(one.blame == Blame::kOpen);
}
