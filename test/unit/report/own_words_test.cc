// What NCCL warned of before a process ended by itself.
#include "report/own_words.h"

#include "support/catch.h"
#include "unit/report/made.h"

using namespace nnd::report;
using nccl_net_diag::Cause;
using nnd::report::test::Made;
using nnd::report::test::ranks;
namespace t = nnd::report::test;

namespace {

constexpr const char* kShared =
    "Multiple Ranks are using the same GPU/Partition. Set NCCL_MULTI_RANK_GPU_ENABLE=1 to enable "
    "this configuration";
constexpr const char* kNoRoom =
    "Error while creating shared memory segment /dev/shm/nccl-a (size 34210176), error: No space "
    "left on device (28)";

void gpu(Made& made, int process, const std::string& pci) {
  auto facts = made.event(process, t::EventId::kNodeFacts, 0);
  facts.facts["cuda.current"] = pci;
  made.add(facts);
}

void end(Made& made, int process, double sec, const std::string& warning, int status = 1) {
  auto out = made.event(process, t::EventId::kSummary, sec);
  out.exit_status = status;
  out.nccl_warning = warning;
  made.add(out);
}

}  // namespace

TEST_CASE("two ranks with one GPU are named, whoever ended first", "[own-words]") {
  Made made;
  for (int i = 0; i < 4; ++i) made.load(i, 0, 4);
  for (int i = 0; i < 4; ++i) gpu(made, i, i == 1 ? "0000:24:00.0" : "0000:14:00.0");
  for (int i = 0; i < 3; ++i) end(made, i, 5 + 0.3 * i, kShared);
  t::box(made, 3, 5, 0, 0);
  const auto report = analyse(made.input);
  CHECK(report.kind == Kind::kLost);
  CHECK(report.blame == Blame::kNotNetwork);
  REQUIRE(report.own_words);
  CHECK(report.own_words->cause == Cause::kDupGpu);
  CHECK(report.own_words->gpu == "0000:14:00.0");
  CHECK(ranks(report.picture, report.own_words->members) == std::vector{2, 3});
}

TEST_CASE("where no driver told of the GPUs, NCCL's words are enough", "[own-words]") {
  Made made;
  for (int i = 0; i < 2; ++i) made.load(i, 0, 2);
  for (int i = 0; i < 2; ++i) end(made, i, 5, kShared);
  const auto report = analyse(made.input);
  REQUIRE(report.own_words);
  CHECK(report.own_words->gpu.empty());
  CHECK(ranks(report.picture, report.own_words->members) == std::vector{0, 1});
}

TEST_CASE("who ended by itself while others waited says why", "[own-words]") {
  Made made;
  made.ring(4);
  auto out = made.event(2, t::EventId::kSummary, 5);
  out.open = 2;
  out.exit_status = 1;
  out.nccl_warning = kNoRoom;
  made.add(out);
  for (const int other : {0, 1, 3}) t::leave(made, other, 5.6 + 0.01 * other, 4);
  const auto report = analyse(made.input);
  REQUIRE(report.own_words);
  CHECK(report.own_words->cause == Cause::kLimShm);
  CHECK(ranks(report.picture, report.own_words->members) == std::vector{2});
}

TEST_CASE("the first collective fails of it, before anything was moved", "[own-words]") {
  Made made;
  made.ring(4);
  for (const int i : {0, 2}) end(made, i, 5 + 0.01 * i, kNoRoom);
  for (const int i : {1, 3}) t::box(made, i, 5.02, 4, 0);
  const auto report = analyse(made.input);
  REQUIRE(report.own_words);
  CHECK(ranks(report.picture, report.own_words->members) == std::vector{0, 2});
}

TEST_CASE("what NCCL warned of is no cause by itself", "[own-words]") {
  Made made;
  const char* warning = kNoRoom;
  int status = 1;
  SECTION("of a process that ended well") { status = 0; }
  SECTION("where the warning follows from what others do") {
    warning = "socketProgress: Connection closed by remote peer node1<41>";
  }
  SECTION("where it used the network until others were lost") {
    made.ring(2);
    t::box(made, 1, 3, 2.9, 1);
    auto out = made.event(0, t::EventId::kSummary, 5);
    out.bytes = 4096;
    out.exit_status = 1;
    out.nccl_warning = kNoRoom;
    made.add(out);
    CHECK_FALSE(analyse(made.input).own_words);
    return;
  }
  for (int i = 0; i < 2; ++i) made.load(i, 0, 2);
  for (int i = 0; i < 2; ++i) end(made, i, 5, warning, status);
  CHECK_FALSE(analyse(made.input).own_words);
}
