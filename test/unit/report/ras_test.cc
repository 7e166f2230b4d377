// What answers of NCCL's RAS show.
#include "report/ras.h"

#include "report/others.h"
#include "support/catch.h"

using namespace nnd::foreign;
using nnd::report::Ras;
using nnd::report::ras_of;

namespace {

RasRank rank(int number, std::uint64_t all_reduces, int error = 0) {
  RasRank out;
  out.rank = number;
  out.async_error = error;
  out.begun = {{"AllReduce", all_reduces}, {"Broadcast", 1}};
  return out;
}

RasStatus answer(std::int64_t at_sec, std::vector<RasRank> ranks) {
  RasStatus out;
  out.at_sec = at_sec;
  out.communicators.push_back({"0x1f", 4, std::move(ranks), {}});
  return out;
}

RasStatus answer(std::int64_t at_sec, std::vector<RasRank> ranks, bool third_is_dead) {
  auto out = answer(at_sec, std::move(ranks));
  out.communicators[0].missing.push_back({3, "10.0.0.9", 9, third_is_dead});
  return out;
}

const std::vector<RasRank> kThree{rank(0, 7), rank(1, 7), rank(2, 7)};

std::vector<RasRank> three_and(const RasRank& fourth) {
  auto out = kThree;
  out.push_back(fourth);
  return out;
}

}  // namespace

TEST_CASE("who is dead goes before errors, and these before who does not answer", "[ras]") {
  const std::vector failed{rank(0, 7, 6), rank(1, 7, 2), rank(2, 7, 7)};
  const std::vector dead{answer(5, failed, true)}, error{answer(5, failed, false)},
      silent{answer(5, kThree, false)};
  CHECK(ras_of(dead).value().kind == Ras::Kind::kDead);
  CHECK(ras_of(dead).value().gone.at(0)->rank == 3);
  CHECK(ras_of(error).value().kind == Ras::Kind::kError);
  REQUIRE(ras_of(error).value().ranks.size() == 1);  // and not who was told of another's
  CHECK(ras_of(error).value().ranks[0]->rank == 1);
  CHECK(ras_of(error).value().found());
  CHECK(ras_of(silent).value().kind == Ras::Kind::kUnanswered);
}

TEST_CASE("other numbers of collectives tell of a hang where they stand", "[ras]") {
  const auto apart = three_and(rank(3, 6));
  const std::vector once{answer(1000, apart)};
  REQUIRE(ras_of(once));
  CHECK(ras_of(once)->kind == Ras::Kind::kApart);
  CHECK_FALSE(ras_of(once)->found());
  const std::vector twice{answer(1010, apart), answer(1000, apart)};
  const auto stands = ras_of(twice);
  REQUIRE(stands);
  CHECK(stands->found());
  CHECK(stands->stood_sec == 10);
  CHECK(stands->ranks.at(0)->rank == 3);
  CHECK(stands->collective == "AllReduce");
  CHECK(stands->begun == 6);
  CHECK(stands->by_others == 7);
  const std::vector moved{answer(1000, apart), answer(1010, three_and(rank(3, 7)))};
  CHECK_FALSE(ras_of(moved));
  CHECK_FALSE(ras_of({}));
}

TEST_CASE("a communicator that is given up is apart for that", "[ras]") {
  auto aborted = rank(3, 6);
  aborted.aborted = true;
  const std::vector one{answer(1000, three_and(aborted))};
  CHECK_FALSE(ras_of(one));
}

TEST_CASE("what failed by NCCL's own log goes before RAS, an echo does not", "[ras]") {
  Evidence evidence;
  evidence.ras = {answer(5, kThree, true)};
  CHECK(nnd::report::findings_of(evidence).ras_first);
  evidence.add(Fact{});  // an echo
  CHECK(nnd::report::findings_of(evidence).ras_first);
  Fact failed;
  failed.what = What::kFailure;
  failed.cause = nccl_net_diag::Cause::kQp110;
  evidence.add(std::move(failed));
  CHECK_FALSE(nnd::report::findings_of(evidence).ras_first);
}
