// Another profiler: where ours stays out, and where it is called by ours.
#include <algorithm>
#include <regex>
#include <string>
#include <vector>

#include "job/profiled.h"
#include "nccl_abi/releases.h"

using namespace softcuda;
using nlohmann::json;
using nnd::test::failures;
using nnd::test::loses_ends_of_steps;
using nnd::test::nccl_version;
using nnd::test::ProfiledJob;
using Kind = Action::Kind;

namespace {

enum class Beside { kAlone, kSet, kInstalled, kCalledByUs };

struct OtherProfiler {
  Beside beside = Beside::kAlone;
  std::string mask = {};     // that it asks for; empty: all that doesn't hang on the clock
  std::string version = {};  // the only one that it has; empty: all
  std::string name = NND_OTHER_PROFILER_DIR "/libnccl-profiler.so";

  // Rank by rank.
  std::vector<std::string> told() const;

 private:
  void set_up(ProfiledJob& job) const {
    auto& environment = job.spec.environment;
    environment["OTHER_PROFILER_MASK"] = mask;
    environment["OTHER_PROFILER_VERSION"] = version;
    environment["NCCL_ALGO"] = "Ring";
    environment["NCCL_IB_GID_INDEX"] = "3";
    if (beside == Beside::kCalledByUs) {
      environment["NCCL_NET_DIAG_PROFILER"] = name;
      return;
    }
    environment.erase("NCCL_PROFILER_PLUGIN");
    if (beside == Beside::kAlone) environment.erase("NCCL_NET_PLUGIN");
    if (beside == Beside::kInstalled)
      job.spec.library_path.emplace_back(NND_OTHER_PROFILER_DIR);
    else
      environment["NCCL_PROFILER_PLUGIN"] = name;
  }
  void check_ours(const ProfiledJob& job, int rank) const {
    INFO("rank " << rank);
    const bool ours = beside == Beside::kCalledByUs;
    CHECK(job.events(rank, "coll.count").size() == (ours ? 1 : 0));
    const json layers = job.events(rank, "plugin.load").front().at("layers");
    CHECK(layers == (ours ? json({"net", "verbs", "profiler"}) : json({"net", "verbs"})));
    CHECK_FALSE(job.events(rank, "conn.close").empty());
    for (const json& e : job.events(rank, "conn.close"))
      CHECK(e.contains("how") == (ours && e.at("started") > 0));
    for (const json& e : job.events(rank, "comm.init"))
      if (e.contains("profiler_api")) CHECK(e.value("other_profiler", "") == "other");
    if (!ours) return;
    for (const json& e : job.events(rank, "coll.count")) {
      CHECK(e.at("ran").at(0).at("kind") == "AllReduce");
      CHECK(e.at("ran").at(0).at("calls") == 3);
    }
  }
};

std::vector<std::string> OtherProfiler::told() const {
  ProfiledJob job;
  set_up(job);
  job.spec.actions = {{.kind = Kind::kCreate},
                      {.kind = Kind::kCollective, .iterations = 3},
                      {.kind = Kind::kCollective,
                       .collective = Collective::kSendRecv,
                       .bytes = 100000,
                       .iterations = 2},
                      {.kind = Kind::kDestroy}};
  const JobResult result = job.run();
  CHECK(failures(result) == "");
  static const std::regex line("OTHER PROFILER: (.*)");
  std::vector<std::string> lines;
  for (const RankResult& rank : result.ranks) {
    std::smatch m;
    REQUIRE(std::regex_search(rank.output, m, line));
    lines.push_back(m[1]);
    if (beside != Beside::kAlone) check_ours(job, rank.rank);
    if (loses_ends_of_steps())
      lines.back() = std::regex_replace(
          lines.back(), std::regex(R"((kind 4: \d+ began), \d+ ended, \d+ states)"), "$1");
  }
  if (beside == Beside::kCalledByUs) job.check_logs();
  return lines;
}

void check_alone(const std::vector<std::string>& alone) {
  for (const std::string& text : alone) {
    INFO(text);
    CHECK(text.find("kind 1: 3 began, 3 ended") != text.npos);
    CHECK(text.ends_with(" 0 strange"));
  }
}

// What kernels tell by themselves: each collective, send and receive, on each of its channels.
void check_kernels(const std::vector<std::string>& alone) {
  static const std::regex kernels(R"(kind 6: (\d+) began, (\d+) ended)");
  for (const std::string& text : alone) {
    INFO(text);
    std::smatch m;
    const bool told = std::regex_search(text, m, kernels);
    REQUIRE(told == (nccl_abi::apis_of(nccl_version()).profiler >= 3));
    if (!told) continue;
    CHECK(std::stoi(m[1]) >= 3 + 2);
    CHECK(m[1] == m[2]);
  }
}

}  // namespace

TEST_CASE("another profiler gets what it gets without us", "[profiler]") {
  const std::vector<std::string> alone = OtherProfiler{}.told();
  check_alone(alone);
  check_kernels(alone);
  CHECK(OtherProfiler{Beside::kSet}.told() == alone);
  CHECK(OtherProfiler{Beside::kInstalled}.told() == alone);
}

TEST_CASE("another profiler that ours calls gets what it gets without us, and so does ours",
          "[other-profiler]") {
  const std::string mask = GENERATE("", "2", "8");  // all; collectives; operations
  INFO("mask " << mask);
  const std::vector<std::string> alone = OtherProfiler{Beside::kAlone, mask}.told();
  check_alone(alone);
  CHECK(OtherProfiler{Beside::kCalledByUs, mask}.told() == alone);
}

TEST_CASE("one that is older than NCCL, too", "[other-profiler]") {
  const int newest = nccl_abi::apis_of(nccl_version()).profiler;
  const int version = GENERATE(1, 3, 4);
  if (version >= newest) return;
  INFO("version " << version);
  const auto alone = OtherProfiler{Beside::kAlone, "", std::to_string(version)}.told();
  check_alone(alone);
  CHECK(OtherProfiler{Beside::kCalledByUs, "", std::to_string(version)}.told() == alone);
}

TEST_CASE("another profiler that can't be called is named, and the job runs", "[other-profiler]") {
  struct Row {
    std::string name, version, problem, nearest;
  };
  const int native = nccl_abi::apis_of(nccl_version()).profiler;
  const std::string own = NND_OTHER_PROFILER_DIR "/libnccl-profiler.so";
  const Row row = GENERATE_COPY(
      Row{"atuo", "", "libnccl-profiler-atuo.so: cannot open shared object file", "auto"},
      Row{"/nowhere/inspector.so", "", "/nowhere/inspector.so: cannot open", ""},
      Row{"libnccl-net-diag.so", "", "is this plugin itself", ""},
      Row{own, "none",
          "has no ncclProfiler_v" + std::to_string(native) +
              " or older, which this NCCL could take (it has none)",
          ""});
  INFO(row.name);
  ProfiledJob job;
  job.spec.environment["NCCL_NET_DIAG_PROFILER"] = row.name;
  job.spec.environment["OTHER_PROFILER_VERSION"] = row.version;
  job.spec.actions = {
      {.kind = Kind::kCreate}, {.kind = Kind::kCollective}, {.kind = Kind::kDestroy}};
  REQUIRE(failures(job.run()) == "");
  for (int rank = 0; rank < job.spec.ranks(); ++rank) {
    INFO("rank " << rank);
    std::vector<json> told;
    for (const json& e : job.events(rank, "env.lint"))
      if (e.at("variable") == "NCCL_NET_DIAG_PROFILER") told.push_back(e);
    REQUIRE(told.size() == 1);
    INFO(told.front().dump());
    CHECK(told.front().at("cause") == "ENV-WRONG");
    CHECK(told.front().at("value") == row.name);
    CHECK(told.front().at("msg").get<std::string>().find(row.problem) != std::string::npos);
    CHECK(told.front().value("nearest", "") == row.nearest);
    CHECK(job.events(rank, "coll.count").size() == 1);  // ours goes on
  }
}
