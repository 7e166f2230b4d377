#include "report/culprits.h"

#include <fmt/format.h>

#include "support/catch.h"
#include "unit/report/made.h"

using namespace nnd::report;
using nnd::report::test::Made;

namespace {

Failure failing(const Place& here, const Place& there = {}) {
  Failure out;
  out.here = here;
  out.there = there;
  return out;
}

Place hca(const std::string& host, int rail) {
  return {host, "mlx5_" + std::to_string(rail), "net" + std::to_string(rail), 0};
}

// Processes 0 and 1 on host0, 2 and 3 on host1, ...: even ones have mlx5_0.
Picture working(const std::vector<std::pair<int, int>>& pairs) {
  static std::vector<std::unique_ptr<Made>> kept;
  auto& made = *kept.emplace_back(std::make_unique<Made>());
  for (int i = 0; i < 8; ++i) made.load(i);
  for (const auto& [from, to] : pairs) made.connect(from, to);
  return picture_of(made.input);
}

}  // namespace

TEST_CASE("an HCA that has part in all that fails", "[culprits]") {
  const auto picture = working({{0, 2}, {3, 5}});
  const auto found = culprits_of(picture, {failing(hca("host2", 0), hca("host0", 0)),
                                           failing(hca("host1", 0), hca("host2", 0))});
  REQUIRE(found.size() == 1);
  CHECK(found[0].kind == Culprit::Kind::kHca);
  CHECK(found[0].place.host == "host2");
  CHECK(found[0].place.dev == "mlx5_0");
  CHECK(found[0].explained == 2);
  CHECK(found[0].working == 0);
}

TEST_CASE("several HCAs of one node: the node", "[culprits]") {
  const auto picture = working({{0, 2}, {1, 3}});
  const auto found = culprits_of(picture, {failing(hca("host2", 0), hca("host0", 0)),
                                           failing(hca("host2", 1), hca("host1", 1)),
                                           failing(hca("host3", 1), hca("host2", 1))});
  REQUIRE(found.size() == 1);
  CHECK(found[0].kind == Culprit::Kind::kHost);
  CHECK(found[0].place.host == "host2");
}

TEST_CASE(
    "where requests fail, only a connection over which something came shows that an end works",
    "[culprits]") {
  using Completed = std::optional<std::uint64_t>;
  const auto completed = GENERATE(Completed(), Completed(0), Completed(5));
  Made made;
  for (int i = 0; i < 6; ++i) made.load(i);
  for (const int rail : {0, 1}) {
    made.connect(rail, 2 + rail);      // host0 and host1
    made.connect(2 + rail, 4 + rail);  // host1 and host2
    if (!completed) continue;          // its log was cut off
    auto close =
        made.of(2 + rail, 4 + rail, nnd::log::Direction::kSend, nnd::log::EventId::kConnClose, 5);
    close.completed = completed;
    made.add(close);
  }
  nnd::log::Diagnosis told;
  told.event = "wc.error";
  std::vector<Failure> failed{failing(hca("host0", 0), hca("host1", 0)),
                              failing(hca("host0", 1), hca("host1", 1))};
  for (auto& one : failed) one.told = &told;
  const auto found = culprits_of(picture_of(made.input), failed);
  REQUIRE(found.size() == 1);
  CHECK(found[0].kind == Culprit::Kind::kHost);
  CHECK(found[0].place.host == "host0");
  CHECK(found[0].other.host == (completed == 5U ? "" : "host1"));
}

TEST_CASE("where a send fails, what its sender receives doesn't speak for it", "[culprits]") {
  Made made;
  for (int i = 0; i < 6; ++i) made.load(i);
  const bool sends = GENERATE(false, true);
  made.connect(0, 2);
  const int from = sends ? 0 : 4, to = sends ? 4 : 0;
  made.connect(from, to);
  auto close = made.of(from, to, nnd::log::Direction::kSend, nnd::log::EventId::kConnClose, 5);
  close.completed = 5;
  made.add(close);
  nnd::log::Diagnosis told;
  told.event = "wc.error";
  told.dir = nnd::log::Direction::kSend;
  auto failed = failing(hca("host0", 0), hca("host1", 0));
  failed.told = &told;
  const auto found = culprits_of(picture_of(made.input), {failed});
  REQUIRE(found.size() == 1);
  CHECK(found[0].kind == (sends ? Culprit::Kind::kHca : Culprit::Kind::kPair));
  if (sends) CHECK(found[0].place.host == "host1");
}

TEST_CASE("one pair whose ends work with others: what is between them", "[culprits]") {
  const auto picture = working({{0, 4}, {2, 4}});
  const auto found = culprits_of(picture, {failing(hca("host0", 0), hca("host1", 0))});
  REQUIRE(found.size() == 1);
  CHECK(found[0].kind == Culprit::Kind::kPair);
}

TEST_CASE("one pair, of which one end works with others: the other end", "[culprits]") {
  const auto picture = working({{0, 4}});
  const auto found = culprits_of(picture, {failing(hca("host0", 0), hca("host1", 0))});
  REQUIRE(found.size() == 1);
  CHECK(found[0].kind == Culprit::Kind::kHca);
  CHECK(found[0].place.host == "host1");
}

TEST_CASE("one pair, and what the other end has elsewhere is in doubt: that end", "[culprits]") {
  const auto picture = working({{0, 4}, {2, 4}});
  const auto found = culprits_of(picture, {failing(hca("host0", 0), hca("host1", 0))}, {},
                                 {failing(hca("host1", 0), hca("host2", 0))});
  REQUIRE(found.size() == 1);
  CHECK(found[0].kind == Culprit::Kind::kHca);
  CHECK(found[0].place.host == "host1");
}

TEST_CASE("all pairs of a rail: the rail", "[culprits]") {
  const auto picture = working({{1, 3}, {3, 5}, {5, 7}});
  const auto found = culprits_of(
      picture,
      {failing(hca("host0", 0), hca("host1", 0)), failing(hca("host1", 0), hca("host2", 0)),
       failing(hca("host2", 0), hca("host3", 0)), failing(hca("host3", 0), hca("host0", 0))});
  REQUIRE(found.size() == 1);
  CHECK(found[0].kind == Culprit::Kind::kRail);
  CHECK(found[0].place.dev == "mlx5_0");
}

TEST_CASE("pairs that cross two subnets: what is between these", "[culprits]") {
  const auto picture = working({{0, 2}, {2, 4}, {1, 3}, {3, 5}});
  const auto found = culprits_of(picture, {failing(hca("host0", 0), hca("host1", 1)),
                                           failing(hca("host1", 0), hca("host2", 1)),
                                           failing(hca("host0", 1), hca("host2", 0))});
  REQUIRE_FALSE(found.empty());
  CHECK(found[0].kind == Culprit::Kind::kBetween);
}

TEST_CASE("an HCA that told of trouble is to blame for what it has part in", "[culprits]") {
  const auto picture = working({});
  const auto pair = failing(hca("host0", 0), hca("host1", 0));
  const auto found = culprits_of(picture, {pair}, {failing(hca("host1", 0))});
  REQUIRE(found.size() == 1);
  CHECK(found[0].kind == Culprit::Kind::kHca);
  CHECK(found[0].place.host == "host1");
}

TEST_CASE("two things that are broken are both named", "[culprits]") {
  const auto picture = working({{1, 3}});
  const auto found = culprits_of(
      picture,
      {failing(hca("host0", 0), hca("host1", 0)), failing(hca("host0", 0), hca("host2", 0)),
       failing(hca("host3", 1), hca("host1", 1)), failing(hca("host3", 1), hca("host2", 1))});
  REQUIRE(found.size() == 2);
  CHECK(found[0].place.host != found[1].place.host);
  for (const auto& one : found) CHECK(one.failing == 4);
}

TEST_CASE("one port of an HCA whose other one works: the port", "[culprits]") {
  Made made;
  for (int i = 0; i < 6; ++i) {
    made.load(i);
    auto second = made.event(i, test::EventId::kHcaPort, 0);
    second.dev = Made::dev(i);
    second.dev.port = 2;
    second.dev.gid = "second" + std::to_string(i);
    second.verdict = "taken";
    made.add(second);
  }
  made.connect(0, 2);
  made.connect(2, 4);
  const auto picture = picture_of(made.input);
  const auto second = [](const std::string& host) { return Place{host, "mlx5_0", "net0", 2}; };
  const auto found = culprits_of(picture, {failing(second("host1"), second("host0")),
                                           failing(second("host2"), second("host1"))});
  REQUIRE(found.size() == 1);
  CHECK(found[0].kind == Culprit::Kind::kPort);
  CHECK(found[0].place == second("host1"));
}

TEST_CASE("all that fails is in neighbouring subnets: what carries them", "[culprits]") {
  const auto at = [](const std::string& host, int plane, int rail) {
    return Place{host, fmt::format("mlx5_{}", 4 * plane + rail),
                 fmt::format("10.{}.{}.0/24", 64 + plane, rail), 0};
  };
  std::vector<Failure> failures;
  for (int rail = 0; rail < 4; ++rail)
    for (const auto& [a, b] : {std::pair("host0", "host1"), {"host1", "host2"}, {"host2", "host0"}})
      failures.push_back(failing(at(a, 1, rail), at(b, 1, rail)));
  Made made;
  for (int i = 0; i < 6; i += 2) {
    made.load(i);
    for (int rail = 0; rail < 4; ++rail) {
      auto ready = made.of(i, (i + 2) % 6, test::Direction::kSend, test::EventId::kConnReady, 1);
      ready.conn = static_cast<std::uint64_t>(100 + rail);
      const auto here = at(Made::host(i), 0, rail), there = at(Made::host((i + 2) % 6), 0, rail);
      ready.dev = {};
      ready.dev.name = here.dev;
      ready.dev.subnet = here.subnet;
      ready.peer.gid.clear();
      ready.peer.dev = there.dev;
      ready.peer.subnet = there.subnet;
      ready.peer.proc.clear();
      ready.peer.host = there.host;
      made.add(ready);
    }
  }
  const auto found = culprits_of(picture_of(made.input), failures);
  REQUIRE(found.size() == 1);
  CHECK(found[0].kind == Culprit::Kind::kPlane);
  CHECK(found[0].place.subnet == "10.65.0.0/22");
  CHECK(found[0].subnets == 4);
  CHECK(found[0].all_subnets == 8);
}

TEST_CASE("the switch's end of a cable is told by a plan of two addresses each", "[culprits]") {
  Made made;
  for (int i = 0; i < 6; i += 2) made.load(i);
  auto port = made.event(2, test::EventId::kHcaPort, 0);
  port.dev = Made::dev(2);
  port.dev.gid = "::ffff:10.0.3.0";
  port.dev.subnet = "10.0.3.0/31";
  port.verdict = "taken";
  made.add(port);
  const Place here{"host1", "mlx5_0", "10.0.3.0/31", 0};
  const auto picture = picture_of(made.input);
  const auto found =
      culprits_of(picture, {failing(here, hca("host0", 0)), failing(hca("host2", 0), here)});
  REQUIRE(found.size() == 1);
  CHECK(found[0].kind == Culprit::Kind::kHca);
  CHECK(found[0].other_end == "10.0.3.1");
}

TEST_CASE("nothing fails: nobody is to blame", "[culprits]") {
  CHECK(culprits_of(working({{0, 2}}), {}).empty());
}
