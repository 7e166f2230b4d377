// Who went first, as NCCL's own TCP connections show.
#include <cerrno>

#include "report/ends.h"
#include "support/catch.h"
#include "unit/report/made.h"

using namespace nnd::report;
using nnd::report::test::box;
using nnd::report::test::leave;
using nnd::report::test::lost;
using nnd::report::test::Made;
namespace t = nnd::report::test;

namespace {

// Rank 2 listens for rank 3 of its node.
struct Neighbours : Made {
  // Of four.
  explicit Neighbours(const std::vector<int>& with_logs = {0, 1, 2, 3}) {
    for (const int i : with_logs) load(i, 0, 4);
    for (const int i : {2, 3}) {
      auto met = event(i, t::EventId::kInitReady, 1);
      met.listens = {"127.0.0.1:" + std::to_string(i), "127.0.0.1:40" + std::to_string(i)};
      add(met);
    }
  }
  void finds_closed(int process, int by, double sec, std::optional<int> error = {}) {
    auto closed = event(process, t::EventId::kOobClosed, sec);
    closed.target = "127.0.0.1:40" + std::to_string(by);
    closed.error = error;
    add(closed);
  }
};

}  // namespace

TEST_CASE("who closed what its neighbour failed of went before it", "[ends]") {
  Neighbours made;
  made.finds_closed(3, 2, 5);
  leave(made, 3, 5.05, 0, 1);
  const auto alive = [&](double culprit) {
    for (const int other : {0, 1}) box(made, other, 5.2, 5, 1);
    box(made, 2, culprit, 5, 0);
  };
  bool died = false;
  SECTION("it is gone with that") {
    alive(4.95);
    died = true;
  }
  SECTION("its abort hangs until all are killed") { alive(5.2); }
  SECTION("and that one closed its own in turn") {
    made.finds_closed(2, 3, 5.06);
    alive(5.2);
  }
  const auto report = analyse(made.input);
  CHECK(report.kind == Kind::kLost);
  CHECK(report.blame == Blame::kNotNetwork);
  CHECK(lost(report) == std::vector{2});
  CHECK(report.ends[report.first.losses.at(0).member].died_then == died);
}

TEST_CASE("who works on behind a closed connection has not gone", "[ends]") {
  Neighbours made;
  const bool works = GENERATE(true, false);
  made.finds_closed(3, 2, 5);
  for (const int other : {0, 1, 3}) box(made, other, 30, 5, 1);
  box(made, 2, 30, works ? 12 : 5.5, 1);
  const auto report = analyse(made.input);
  CHECK(lost(report) == (works ? std::vector<int>{} : std::vector{2}));
}

TEST_CASE("where logs are missing, who closed what others failed of may have failed of another",
          "[ends]") {
  Neighbours made({2, 3});
  made.finds_closed(3, 2, 5);
  for (const int i : {2, 3}) leave(made, i, 5.05, 0, 1);
  const auto report = analyse(made.input);
  CHECK(report.blame == Blame::kOpen);
}

TEST_CASE("who was seen to go long before all others were ended went by itself", "[ends]") {
  Neighbours made;
  const bool long_before = GENERATE(true, false);
  made.finds_closed(3, 2, 5);
  leave(made, 2, 5, 0, 1, true);
  for (const int other : {0, 1, 3}) box(made, other, long_before ? 8.5 : 6, 5, 0);
  const auto report = analyse(made.input);
  CHECK(lost(report) == (long_before ? std::vector{2} : std::vector<int>{}));
}

TEST_CASE("what a healthy job's processes close, or a firewall refuses, is no end", "[ends]") {
  Neighbours made;
  SECTION("one had ended well") {
    made.finds_closed(3, 2, 5);
    leave(made, 2, 4.9, 0, 0);
    leave(made, 3, 9, 0, 1);
    for (const int other : {0, 1}) box(made, other, 9.1, 8, 0);
    const auto report = analyse(made.input);
    CHECK(std::none_of(report.ends.begin(), report.ends.end(),
                       [](const nnd::report::End& end) { return end.closed_for || end.after; }));
  }
  SECTION("all are asked to end") {
    made.finds_closed(3, 2, 5);
    made.finds_closed(2, 3, 5.01);
    for (const int i : {0, 1, 2, 3}) leave(made, i, 5.1, 0, 1, true);
    CHECK(lost(analyse(made.input)).empty());
  }
  SECTION("on the way to another node") {
    made.finds_closed(1, 2, 5, ECONNREFUSED);
    leave(made, 1, 5.05, 0, 1);
    for (const int other : {0, 2, 3}) box(made, other, 5.2, 5, 0);
    CHECK(lost(analyse(made.input)) == std::vector{1});
  }
}

TEST_CASE("who ended well and is then asked for at its address ended too early", "[ends]") {
  Neighbours made;
  leave(made, 2, 5, 0, 0);
  made.box(3, true, 12, 12.1);
  for (const int other : {0, 1}) made.box(other, true, 12, 12.1);
  SECTION("by one that goes on asking") {
    made.finds_closed(3, 2, 5.3, ECONNREFUSED);
    const auto report = analyse(made.input);
    CHECK(report.kind == Kind::kLost);
    CHECK(lost(report) == std::vector{2});
  }
  SECTION("or is only seen to have closed") {
    made.finds_closed(3, 2, 5.3);
    CHECK_FALSE(analyse(made.input).found_cause());
  }
  SECTION("or was asked for before") {
    made.finds_closed(3, 2, 3, ECONNREFUSED);
    CHECK_FALSE(analyse(made.input).found_cause());
  }
}
