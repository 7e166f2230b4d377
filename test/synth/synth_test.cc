// Logs of jobs that never ran, each with one fault: the report names the guilty, and accuses no
// network where it is innocent.
#include <fmt/format.h>

#include "support/catch.h"
#include "support/temp_dir.h"
#include "synth/judged.h"

using namespace nnd;
using synth::Fault;

namespace {

std::string wrong_about(const synth::Spec& spec) {
  const test::TempDir dir;
  const auto planted = synth::write_job(spec, dir.path());
  const auto input = report::read_input(report::files_of({dir.path().string()}));
  return synth::wrong_about(report::analyse(input), spec, planted);
}

}  // namespace

TEST_CASE("what was planted is found, whatever the seed", "[synth]") {
  const auto fault = static_cast<Fault>(GENERATE(range(0, static_cast<int>(Fault::kCount))));
  const int ranks = GENERATE(64, 128);
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    INFO(synth::name_of(fault) << ", " << ranks << " ranks, seed " << seed);
    CHECK(wrong_about({.ranks = ranks, .seed = seed, .fault = fault}) == "");
  }
}

TEST_CASE("hosts' clocks that are off by seconds change nothing", "[synth]") {
  const auto fault = static_cast<Fault>(GENERATE(range(0, static_cast<int>(Fault::kCount))));
  INFO(synth::name_of(fault));
  CHECK(wrong_about({.ranks = 64, .seed = 5, .fault = fault, .clocks_sec = 20}) == "");
}

TEST_CASE("clocks are compared by the two ends of connections", "[synth]") {
  const test::TempDir dir;
  synth::write_job({.ranks = 64, .seed = 9, .clocks_sec = 20}, dir.path());
  const auto input = report::read_input(report::files_of({dir.path().string()}));
  const auto picture = report::picture_of(input);
  REQUIRE(picture.hosts.size() == 8);
  // All processes of the job began within half a second.
  for (const auto& member : picture.members) CHECK(member.first - picture.first < 700'000'000);
}

// By hand, for minutes: synth_test "[sweep]"
TEST_CASE("hundreds of jobs of many sizes", "[.sweep]") {
  int jobs = 0, right = 0;
  for (std::uint64_t seed = 100; seed < 100 + 28; ++seed)
    for (int i = 0; i < static_cast<int>(Fault::kCount); ++i) {
      const int ranks = 64 << (seed % 4);
      const auto fault = static_cast<Fault>(i);
      const auto wrong = wrong_about(
          {.ranks = ranks, .seed = seed, .fault = fault, .clocks_sec = seed % 2 == 0 ? 5.0 : 0.0});
      ++jobs;
      right += wrong.empty();
      if (!wrong.empty())
        fmt::print("{}, {} ranks, seed {}: {}\n", synth::name_of(fault), ranks, seed, wrong);
    }
  fmt::print("{} of {} right\n", right, jobs);
  CHECK(right == jobs);
}
