// Logs of jobs that never ran, each with one fault: the report names the guilty, and accuses no
// network where it is innocent.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "support/catch.h"
#include "support/temp_dir.h"
#include "synth/judged.h"

using namespace nnd;
using synth::Fault;

namespace {

std::string wrong_about(const synth::Spec& spec, const synth::Surroundings& surroundings = {}) {
  const test::TempDir dir;
  const auto planted = synth::write_job(spec, dir.path());
  synth::disturb(spec, planted, surroundings, dir.path());
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

namespace {

// Of a report that logs are missing of: whom the network is not guilty of, and whom it
// names, if it names anybody.
std::string falsely_told(const synth::Spec& spec, const synth::Surroundings& surroundings) {
  const test::TempDir dir;
  const auto planted = synth::write_job(spec, dir.path());
  synth::disturb(spec, planted, surroundings, dir.path());
  const auto input = report::read_input(report::files_of({dir.path().string()}));
  return synth::false_about(report::analyse(input), spec, planted);
}

}  // namespace

TEST_CASE("names, cut logs, earlier runs and other files change nothing", "[synth]") {
  const auto fault = static_cast<Fault>(GENERATE(range(0, static_cast<int>(Fault::kCount))));
  for (std::uint64_t seed = 11; seed <= 12; ++seed) {
    INFO(synth::name_of(fault) << ", seed " << seed);
    const synth::Spec spec{
        .ranks = 64, .seed = seed, .fault = fault, .clocks_sec = 3, .shuffled = true};
    CHECK(wrong_about(spec, {.earlier = true, .others = true}) == "");
    CHECK(wrong_about(spec, {.cut = 1}) == "");
  }
}

TEST_CASE("with half of the logs, or none that is whole, nobody is accused who has done nothing",
          "[synth]") {
  const auto fault = static_cast<Fault>(GENERATE(range(0, static_cast<int>(Fault::kCount))));
  for (std::uint64_t seed = 21; seed <= 22; ++seed) {
    INFO(synth::name_of(fault) << ", seed " << seed);
    const synth::Spec spec{.ranks = 64, .seed = seed, .fault = fault, .shuffled = true};
    CHECK(falsely_told(spec, {.missing = 0.5, .cut = 1}) == "");
    CHECK(falsely_told(spec, {.last_line = true}) == "");
  }
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

namespace {

// Two at once: the second one is elsewhere.
const std::vector<std::pair<Fault, Fault>> kPairs{
    {Fault::kCable, Fault::kCable},        {Fault::kCableTold, Fault::kOtherVariable},
    {Fault::kCable, Fault::kSlowHca},      {Fault::kNodeDied, Fault::kOtherVariable},
    {Fault::kRankDied, Fault::kSlowHca},   {Fault::kRankIdle, Fault::kOtherVariable},
    {Fault::kMemlock, Fault::kSlowHca},    {Fault::kRail, Fault::kOtherVariable},
    {Fault::kMismatched, Fault::kSlowHca}, {Fault::kStuckHca, Fault::kOtherVariable},
    {Fault::kRankLeft, Fault::kSlowHca}};

bool is_networks(Fault fault) {
  constexpr std::array kNotTheNetworks{Fault::kNone,     Fault::kOtherVariable, Fault::kNodeDied,
                                       Fault::kRankDied, Fault::kRankLeft,      Fault::kRankMissing,
                                       Fault::kRankIdle, Fault::kMismatched};
  return std::find(kNotTheNetworks.begin(), kNotTheNetworks.end(), fault) == kNotTheNetworks.end();
}

// What was said instead of what was planted, and how often.
class Confusions {
 public:
  void add(const synth::Spec& spec, const std::string& wrong) {
    const auto name =
        spec.second == Fault::kNone
            ? std::string(synth::name_of(spec.fault))
            : fmt::format("{} + {}", synth::name_of(spec.fault), synth::name_of(spec.second));
    ++table_[name][wrong.empty() ? "right" : wrong];
    ++jobs_;
    right_ += wrong.empty();
    if (is_networks(spec.fault)) return;
    ++innocent_;
    accused_ += wrong.find("(network)") != std::string::npos;
  }
  void print() const {
    for (const auto& [planted, said] : table_)
      for (const auto& [what, count] : said) fmt::print("{:28} {:4}  {}\n", planted, count, what);
    fmt::print("{} of {} right; the network is accused in {} of {} where it is innocent\n", right_,
               jobs_, accused_, innocent_);
  }
  int jobs() const { return jobs_; }
  int right() const { return right_; }
  int accused() const { return accused_; }

 private:
  std::map<std::string, std::map<std::string, int>> table_;
  int jobs_ = 0, right_ = 0, innocent_ = 0, accused_ = 0;
};

}  // namespace

TEST_CASE("of two faults the one that ends the job is named first", "[synth]") {
  Confusions confusions;
  for (const auto& [first, second] : kPairs) {
    const synth::Spec spec{.ranks = 64, .seed = 3, .fault = first, .second = second};
    confusions.add(spec, wrong_about(spec));
  }
  confusions.print();
  CHECK(confusions.right() == confusions.jobs());
  CHECK(confusions.accused() == 0);
}

// By hand, for minutes: synth_test "[sweep]"; 400 jobs of 64 to 4,096 ranks, of which the large
// ones are few.
TEST_CASE("hundreds of jobs of many sizes", "[.sweep]") {
  constexpr std::array kSizes{64,  128, 256, 64,   512, 128,  64, 1024,
                              256, 64,  128, 2048, 64,  4096, 512};
  Confusions confusions;
  const auto faults = static_cast<std::size_t>(Fault::kCount);
  for (std::size_t i = 0; i < 400; ++i) {
    synth::Spec spec;
    spec.seed = 100 + i;
    const auto kind = i % (faults + kPairs.size());
    spec.fault = kind < faults ? static_cast<Fault>(kind) : kPairs[kind - faults].first;
    if (kind >= faults) spec.second = kPairs[kind - faults].second;
    const auto round = i / (faults + kPairs.size());
    spec.ranks = kSizes[round % kSizes.size()];
    spec.clocks_sec = round % 2 == 0 ? 5 : 0;
    confusions.add(spec, wrong_about(spec));
  }
  confusions.print();
  CHECK(confusions.right() * 100 >= confusions.jobs() * 95);
  CHECK(confusions.accused() == 0);
}

// By hand, for minutes: synth_test "[surroundings]"
TEST_CASE("hundreds of jobs in any surroundings", "[.surroundings]") {
  int jobs = 0, wrong = 0;
  const auto count = [&](const char* how, const synth::Spec& spec, const std::string& what) {
    ++jobs;
    if (what.empty()) return;
    ++wrong;
    fmt::print("{}: {}, {} ranks, seed {}: {}\n", how, synth::name_of(spec.fault), spec.ranks,
               spec.seed, what);
  };
  for (std::uint64_t seed = 1000; seed < 1000 + 12; ++seed)
    for (int i = 0; i < static_cast<int>(Fault::kCount); ++i) {
      const synth::Spec spec{.ranks = 64 + 8 * static_cast<int>(seed % 9),
                             .seed = seed,
                             .fault = static_cast<Fault>(i),
                             .clocks_sec = static_cast<double>(seed % 3),
                             .shuffled = true};
      count("others", spec, wrong_about(spec, {.earlier = seed % 2 == 0, .others = true}));
      count("cut", spec, wrong_about(spec, {.cut = 1 + static_cast<int>(seed % 3)}));
      count("last line", spec, falsely_told(spec, {.last_line = true}));
      count("half", spec, falsely_told(spec, {.missing = 0.5, .cut = 1}));
    }
  fmt::print("{} of {} wrong\n", wrong, jobs);
  CHECK(wrong == 0);
}
