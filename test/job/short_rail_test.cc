// One node of two is a rail short. The job without advice fails, since NCCL pairs that node's rails
// with others; what the shim says on the spot is then applied to both nodes, and the job runs.
#include <fmt/format.h>

#include "job/fabric.h"
#include "support/advice.h"
#include "support/catch.h"

using namespace nnd::test;
using softcuda::Action;
using softcuda::JobResult;

namespace {

// Four rails, each an HCA below the PCI switch of a GPU of its own; the first rail of the first
// node is odd. The job has a rank a node, at the first GPU.
std::string four_rails(const std::string& odd) {
  std::string out = "resolve_timeout_ms = 20\n";
  for (int host = 0; host < 2; ++host) {
    out += fmt::format("[[host]]\nname = \"node{}\"\nnvswitch = true\n", host);
    for (int i = 0; i < 4; ++i)
      out += fmt::format(R"([[host.hca]]
name = "mlx5_{0}"
netdev = "eth{0}"
address = "10.200.{0}.{1}/24"
pci = "0000:{2}3:00.0"
parent = "0000:{2}0:01.0/0000:{2}1:00.0/0000:{2}2:00.0"
{3}
[[host.gpu]]
pci = "0000:{2}4:00.0"
parent = "0000:{2}0:01.0/0000:{2}1:00.0/0000:{2}2:01.0"
)",
                         i, host + 1, i + 1, host == 0 && i == 0 ? odd : "");
    // With GPUDirect NCCL looks for the HCA beside the GPU.
    out += "[host.sysfs]\n\"kernel/mm/memory_peers/nv_mem/version\" = \"550.54\"\n";
  }
  return out;
}

JobResult run(FabricJob& job) {
  job.spec.actions = {{.kind = Action::Kind::kCreate},
                      {.kind = Action::Kind::kCollective, .bytes = 400000},
                      {.kind = Action::Kind::kDestroy}};
  job.spec.environment.insert(
      {{"NCCL_IB_MQP_RETRY_CNT", "1"}, {"NCCL_IB_MQP_RETRY_SLEEP_MSEC", "20"}});
  return job.run();
}

// What the first rank said of the pair, once it had failed.
std::string advice(const FabricJob& job) {
  for (const auto& event : job.events(0, "qp.transition"))
    if (event.value("cause", "") == "SUB-RAIL") return event.at("fix");
  return {};
}

}  // namespace

TEST_CASE("a rail at half speed, or down: the advice makes the job run", "[short-rail]") {
  struct Row {
    const char* odd;
    const char* cause;
  };
  for (const Row& row : {Row{"speed_mbps = 200000", "DEV-SLOW"},
                         Row{"state = \"down\"\nphys_state = \"polling\"", "DEV-DOWN"}}) {
    INFO(row.odd);
    FabricJob job(1, 2, four_rails(row.odd));
    const JobResult failed = run(job);
    CHECK(failures(failed) != "");
    const auto told = job.events(0, "policy.warn");
    REQUIRE_FALSE(told.empty());
    CHECK(told[0].at("cause") == row.cause);
    CHECK(told[0].at("dev").at("name") == "mlx5_0");
    const auto followed_by = followed(advice(job), "", {});
    REQUIRE(followed_by);
    CHECK(followed_by->at("NCCL_IB_HCA") == "=mlx5_1,mlx5_2,mlx5_3");

    FabricJob again(1, 2, four_rails(row.odd));
    again.spec.environment.insert(followed_by->begin(), followed_by->end());
    CHECK(failures(run(again)) == "");
  }
}
