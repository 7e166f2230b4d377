// The same job with the plugin unset and with NCCL_NET_PLUGIN=diag: the data is right both times,
// and whatever NCCL itself says otherwise is in the table of docs/nccl-on-off.md.
#include <fstream>
#include <iterator>
#include <string>

#include "job/fabric.h"
#include "job/on_off.h"
#include "support/catch.h"

using namespace softcuda;
using nnd::test::ExpectedDifference;
using nnd::test::FabricJob;
using nnd::test::failures;
using nnd::test::Lines;
using nnd::test::nccl_version;

namespace {

// A few elements, an odd size in the middle, more than the connections' buffers.
constexpr std::initializer_list<std::size_t> kSizes = {40, 100008, 5000008};

struct Told {
  std::vector<Lines> logs;  // by rank
  Lines topology, graphs;
};

Lines dumped(const FabricJob& job, const char* name) {
  std::ifstream stream(job.dir() / name);
  const std::string text(std::istreambuf_iterator<char>(stream), {});
  CHECK(text.find("</") != std::string::npos);  // XML, complete enough to compare
  return nnd::test::comparable_lines(text, job.dir());
}

Told run(FabricJob& job) {
  auto& environment = job.spec.environment;
  environment["NCCL_DEBUG_SUBSYS"] = "INIT,ENV,NET,GRAPH,TUNING";
  environment["NCCL_RAS_ENABLE"] = "0";  // its port is one for all jobs of the machine
  environment["NCCL_TOPO_DUMP_FILE"] = (job.dir() / "topology.xml").string();
  environment["NCCL_GRAPH_DUMP_FILE"] = (job.dir() / "graphs.xml").string();
  nnd::test::add_all_collectives(job.spec, kSizes);
  const JobResult result = job.run();
  REQUIRE(failures(result) == "");
  Told told{{}, dumped(job, "topology.xml"), dumped(job, "graphs.xml")};
  for (const RankResult& rank : result.ranks) {
    CHECK(rank.output.find("Using network IB") != std::string::npos);
    told.logs.push_back(nnd::test::comparable_lines(rank.output, job.dir()));
  }
  return told;
}

}  // namespace

TEST_CASE("with the plugin and without: the same data, and each difference explained", "[onoff]") {
  FabricJob off(1), on(1);
  off.spec.environment.erase("NCCL_NET_PLUGIN");
  off.spec.environment.erase("NCCL_NET_PLUGIN_REF_COUNT");
  const Told without = run(off), with = run(on);
  on.check_carried();
  for (int rank = 0; rank < 2; ++rank) CHECK(off.events(rank).empty());

  CHECK(without.topology == with.topology);
  CHECK(without.graphs == with.graphs);
  const auto rows = nnd::test::read_expected_differences(NND_ON_OFF_TABLE);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    std::vector<bool> used(rows.size());
    for (const std::string& line :
         nnd::test::unexplained(without.logs[rank], with.logs[rank], rows, nccl_version(), used))
      FAIL_CHECK("rank " << rank << " says, and docs/nccl-on-off.md explains it not: " << line);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const bool here = nccl_version() >= rows[i].first_release &&
                        nccl_version() <= rows[i].last_release &&
                        rows[i].side != ExpectedDifference::Side::kVaries;
      if (here && !used[i])
        FAIL_CHECK("docs/nccl-on-off.md expects it, and rank "
                   << rank << " doesn't say it: " << rows[i].text);
    }
  }
}
