#include "report/culprits.h"

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
  return {host, "mlx5_" + std::to_string(rail), "net" + std::to_string(rail)};
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

TEST_CASE("nothing fails: nobody is to blame", "[culprits]") {
  CHECK(culprits_of(working({{0, 2}}), {}).empty());
}
