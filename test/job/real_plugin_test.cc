// A real net plugin that somebody has built, by hand (docs/nccl-on-off.md): in
// $NND_TEST_PLUGIN_DIR, as libnccl-net.so. The job says with us what it says without us, and the
// plugin is wrapped.
#include <cstdlib>
#include <regex>
#include <string>

#include "job/fabric.h"
#include "job/on_off.h"
#include "support/catch.h"
#include "support/skip.h"

using namespace softcuda;
using nlohmann::json;
using nnd::test::FabricJob;
using nnd::test::failures;
using nnd::test::Lines;

namespace {

JobResult run(FabricJob& job, const char* plugin) {
  auto& environment = job.spec.environment;
  environment["NCCL_DEBUG_SUBSYS"] = "INIT,ENV,NET,GRAPH,TUNING";
  environment["NCCL_RAS_ENABLE"] = "0";
  environment["NCCL_IB_GID_INDEX"] = "3";  // 2.18 and 2.19 pick none by themselves
  job.spec.library_path.emplace_back(plugin);
  nnd::test::add_all_collectives(job.spec, {40, 100008, 5000008});
  return job.run();
}

// Without what differs by itself: our line, our profiler, and the library that NCCL has opened.
Lines said(const RankResult& rank, const FabricJob& job) {
  static const std::regex own(
      "NET/DIAG .*|Successfully loaded external (network )?plugin .*|"
      ".*Plugin name set by env to .*|ncclOsDlsym\\(ncclProfiler_v[0-9]+\\) failed: .*");
  static const std::regex library(R"(\S*libnccl-net(-diag)?\.so)");
  Lines out;
  for (const auto& [line, count] : nnd::test::comparable_lines(rank.output, job.dir()))
    if (!std::regex_match(line, own)) out[std::regex_replace(line, library, "LIBRARY")] += count;
  return out;
}

}  // namespace

TEST_CASE("beside a real net plugin a job does what it does without us", "[.real-plugin]") {
  const char* const plugin = std::getenv("NND_TEST_PLUGIN_DIR");
  if (plugin == nullptr) NND_SKIP("NND_TEST_PLUGIN_DIR names no directory");
  FabricJob off(1), on(1);
  off.spec.environment.erase("NCCL_NET_PLUGIN");
  const JobResult without = run(off, plugin), with = run(on, plugin);
  REQUIRE(failures(without) == "");
  REQUIRE(failures(with) == "");
  const auto rows = nnd::test::read_expected_differences(NND_ON_OFF_TABLE);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    INFO("rank " << rank);
    std::vector<bool> used(rows.size());
    for (const std::string& line :
         nnd::test::unexplained(said(without.ranks[rank], off), said(with.ranks[rank], on), rows,
                                nnd::test::nccl_version(), used))
      FAIL_CHECK(line);
    const auto loads = on.events(static_cast<int>(rank), "plugin.load");
    REQUIRE(loads.size() == 1);
    INFO(loads[0].dump());
    CHECK(loads[0]["inner"]["method"] == "plugin");
    CHECK_FALSE(on.events(static_cast<int>(rank), "conn.ready").empty());
    for (const json& event : on.events(static_cast<int>(rank)))
      if (event["sev"] != "info") FAIL_CHECK(event.dump());
  }
}
