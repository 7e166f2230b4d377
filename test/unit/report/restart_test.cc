// What whoever starts the job again is told.
#include "report/restart.h"

#include "support/catch.h"
#include "unit/report/made.h"

using namespace nnd::report;
using Domain = Restart::Domain;
using Confidence = Restart::Confidence;
using Retry = Restart::Retry;
using nnd::report::test::leave;
using nnd::report::test::Made;
namespace t = nnd::report::test;

namespace {

std::vector<std::string> hosts(const std::vector<Place>& places) {
  std::vector<std::string> out;
  for (const auto& place : places) out.push_back(place.host);
  return out;
}

Restart of(const Made& made) { return restart_of(analyse(made.input)); }

}  // namespace

TEST_CASE("a healthy job needs no other try", "[restart]") {
  Made made;
  made.ring(4);
  for (int i = 0; i < 4; ++i) made.close(i, (i + 1) % 4, 5);
  for (int i = 0; i < 4; ++i) leave(made, i, 6, 0, 0);
  const auto out = of(made);
  CHECK(out.domain == Domain::kNothing);
  CHECK(out.confidence == Confidence::kSure);
  CHECK(out.retry == Retry::kNotNeeded);
}

TEST_CASE("a job that was ended from outside may run as it is", "[restart]") {
  Made made;
  made.ring(4);
  for (int i = 0; i < 4; ++i) made.box(i, false, 20);
  const auto out = of(made);
  CHECK(out.domain == Domain::kNothing);
  CHECK(out.retry == Retry::kAsIs);
  CHECK(out.exclude.empty());
}

TEST_CASE("an HCA that has part in all that fails is to be left out", "[restart]") {
  Made made;
  made.ring(6);
  made.fail(0, 4, "WC-12", 5);
  made.fail(4, 2, "WC-12", 5.1);
  for (int i = 0; i < 6; ++i) leave(made, i, 6, 0, 1);
  const auto out = of(made);
  CHECK(out.domain == Domain::kHca);
  CHECK(out.confidence == Confidence::kSure);
  CHECK(out.retry == Retry::kWithout);
  CHECK(hosts(out.exclude) == std::vector<std::string>{"host2"});
  CHECK(out.exclude.at(0).dev == "mlx5_0");
}

TEST_CASE("of one pair that fails neither end is to be left out", "[restart]") {
  Made made;
  made.ring(4);
  made.fail(0, 2, "WC-12", 5);
  for (int i = 0; i < 4; ++i) leave(made, i, 6, 0, 1);
  const auto out = of(made);
  CHECK(out.domain == Domain::kPair);
  CHECK(out.exclude.empty());
  CHECK(out.suspects.size() == 2);
  CHECK(out.confidence == Confidence::kLikely);
}

TEST_CASE("what the peer may have died of excludes nobody", "[restart]") {
  Made made;
  made.ring(4);
  made.fail(0, 2, "WC-12", 5);
  for (const int i : {0, 1, 3}) leave(made, i, 6, 0, 1);
  made.input.job.cut_off(Made::proc(2));
  const auto report = analyse(made.input);
  CHECK(report.blame == Blame::kOpen);
  const auto out = restart_of(report);
  CHECK(out.exclude.empty());
  CHECK(out.confidence == Confidence::kOpen);
  CHECK(out.retry == Retry::kUnknown);
}

TEST_CASE("a process that died is no node to be left out", "[restart]") {
  Made made;
  made.ring(4);
  made.box(1, false, 5);
  for (const int i : {0, 2, 3}) made.box(i, false, 9);
  made.fail(2, 1, "RC-6", 5.2);
  const auto out = of(made);
  CHECK(out.domain == Domain::kProcess);
  CHECK(out.confidence == Confidence::kSure);
  CHECK(out.exclude.empty());
}

TEST_CASE("a limit or an address stays as it is until somebody mends it", "[restart]") {
  Made made;
  made.ring(4);
  auto out = made.event(2, t::EventId::kMrRegister, 3);
  out.dev = Made::dev(2);
  out.severity = t::Severity::kError;
  out.cause = "LIM-MEMLOCK";
  out.failure = 1;
  made.add(out);
  for (int i = 0; i < 4; ++i) leave(made, i, 6, 0, 1);
  const auto restart = of(made);
  CHECK(restart.retry == Retry::kAfterFix);
}
