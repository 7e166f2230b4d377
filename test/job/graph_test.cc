// What NCCL makes of a scenario's nodes: its channels are the stored ones (graphs/), on whichever
// machine it runs. NND_TEST_WRITE_GRAPHS=1 writes the files instead of comparing, after a scenario
// or softcuda's GPUs have changed.
#include <sched.h>

#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <utility>
#include <vector>

#include "job/fabric.h"
#include "support/catch.h"

using namespace softcuda;
using nnd::test::FabricJob;
using nnd::test::failures;
using nnd::test::nccl_library;
using Kind = Action::Kind;

namespace {

std::string content(const std::filesystem::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

struct Seen {
  std::string graph, topology, output;  // output: rank 0's
};

// NCCL connects what a collective needs when it comes.
std::vector<Action> job_of(std::initializer_list<Collective> collectives) {
  std::vector<Action> actions{{.kind = Kind::kCreate}};
  for (const Collective collective : collectives)
    actions.push_back({.kind = Kind::kCollective, .collective = collective});
  actions.push_back({.kind = Kind::kDestroy});
  return actions;
}

Seen look(JobSpec& spec, const std::filesystem::path& dir,
          std::vector<Action> actions = job_of({Collective::kAllReduce})) {
  spec.environment["NCCL_GRAPH_DUMP_FILE"] = (dir / "graph.xml").string();
  spec.environment["NCCL_TOPO_DUMP_FILE"] = (dir / "topology.xml").string();
  spec.actions = std::move(actions);
  spec.environment["NCCL_DEBUG"] = "INFO";
  const JobResult result = run_job(spec);
  CHECK(failures(result) == "");
  return {content(dir / "graph.xml"), content(dir / "topology.xml"), result.ranks.at(0).output};
}

// The version that the file of a graph is named after: releases that don't differ have one file.
void compare(const std::string& scenario, const std::string& graph) {
  const std::filesystem::path file = std::filesystem::path(NND_TEST_SCENARIOS) / "graphs" /
                                     (scenario + "-" + nnd::test::nccl_version_text() + ".xml");
  if (std::getenv("NND_TEST_WRITE_GRAPHS") != nullptr) std::ofstream(file) << graph;
  INFO(file);
  REQUIRE_FALSE(graph.empty());
  CHECK(graph == content(file));
}

// A message between two ranks asks for NCCL_CROSS_NIC, too.
const std::vector<Action> kEveryPath = job_of({Collective::kAllReduce, Collective::kSendRecv});

// One CPU, another vendor, hostile files.
void run_on_another_machine(JobSpec& spec) {
  spec.environment["LD_PRELOAD"] = NND_OTHER_MACHINE;
  const bool intel = content("/proc/cpuinfo").find("GenuineIntel") != std::string::npos;
  spec.environment["OTHER_MACHINE_VENDOR"] = intel ? "AuthenticAMD" : "GenuineIntel";
}

class OneCpu {  // for this process and those that it starts
 public:
  OneCpu() {
    sched_getaffinity(0, sizeof before_, &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu)
      if (CPU_ISSET(cpu, &before_)) CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
  }
  ~OneCpu() { sched_setaffinity(0, sizeof before_, &before_); }
  OneCpu(const OneCpu&) = delete;
  OneCpu& operator=(const OneCpu&) = delete;

 private:
  cpu_set_t before_{};
};

std::filesystem::path example(const std::string& name) {
  return std::filesystem::path(NND_EXAMPLE_SCENARIOS) / (name + ".toml");
}

}  // namespace

TEST_CASE("a scenario's channels are the same everywhere: a node as a DGX", "[graphs]") {
  FabricJob job(8, 2, example("two-nodes-8-hca-bond"));
  const Seen seen = look(job.spec, job.dir());
  compare("two-nodes-8-hca-bond", seen.graph);
  // Rails are in subnets of their own: every connection joins HCAs of one number.
  int connections = 0;
  for (int rank = 0; rank < job.spec.ranks(); ++rank)
    for (const auto& event : job.events(rank, "qp.transition")) {
      if (event.at("qp").at("to") != "RTR") continue;
      CHECK(event.at("dev").at("subnet") == event.at("peer").at("subnet"));
      ++connections;
    }
  CHECK(connections > 0);
}

TEST_CASE("a scenario's channels are the same everywhere: without NVLink", "[graphs]") {
  FabricJob job(4, 2, example("rails-routed"));
  compare("rails-routed", look(job.spec, job.dir()).graph);
}

TEST_CASE("nothing of another machine is seen in a scenario's nodes", "[other-machine]") {
  Seen seen[2];
  for (const bool other : {false, true}) {
    FabricJob job(4, 2, example("rails-routed"));
    const OneCpu alone;
    if (other) run_on_another_machine(job.spec);
    seen[other ? 1 : 0] = look(job.spec, job.dir(), kEveryPath);
  }
  CHECK(seen[0].topology.find("vendor=\"GenuineIntel\" familyid=\"6\" modelid=\"143\"") !=
        std::string::npos);
  CHECK(seen[0].topology == seen[1].topology);
  CHECK(seen[0].graph == seen[1].graph);
  CHECK(seen[1].output.find("NCCL_CROSS_NIC") == std::string::npos);
  CHECK(seen[1].output.find("other-machine") == std::string::npos);
}

// NCCL up to 2.26 finds no NET for its GPU on a machine that calls itself ppc64 and is none
// (ncclTopoCheckGdr): the releases that do show that the fake is one.
TEST_CASE("without a scenario, NCCL sees the other machine", "[faked-machine]") {
  const nnd::test::TempDir dir;
  JobSpec spec = nnd::test::socket_job(2, 1);
  run_on_another_machine(spec);
  const std::string vendor = spec.environment["OTHER_MACHINE_VENDOR"];
  const Seen seen = look(spec, dir.path(), kEveryPath);
  CHECK(seen.topology.find("arch=\"ppc64\"") != std::string::npos);
  CHECK(seen.topology.find("vendor=\"" + vendor + "\"") != std::string::npos);
  CHECK(seen.output.find("NCCL_CROSS_NIC set by environment to 1") != std::string::npos);
  CHECK(seen.output.find("other-machine:") != std::string::npos);
}
