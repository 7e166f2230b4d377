#include "cli/common/launcher.h"

#include <map>

#include "support/catch.h"

using nnd::cli::launched_task;

namespace {

auto task_with(std::map<std::string, std::string> variables) {
  return launched_task([variables = std::move(variables)](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string() : found->second;
  });
}

}  // namespace

TEST_CASE("torchrun names everything, and its agent may hold the port", "[launcher]") {
  std::map<std::string, std::string> variables{{"RANK", "5"},         {"WORLD_SIZE", "8"},
                                               {"LOCAL_RANK", "1"},   {"GROUP_RANK", "2"},
                                               {"MASTER_ADDR", "n0"}, {"MASTER_PORT", "29500"}};
  auto task = task_with(variables);
  REQUIRE(task);
  CHECK(task->launcher == "torchrun");
  CHECK(task->task == 5);
  CHECK(task->tasks == 8);
  CHECK(task->local_task == 1);
  CHECK(task->node == 2);
  CHECK(task->root == "n0:29500");
  variables["TORCHELASTIC_USE_AGENT_STORE"] = "True";
  CHECK(task_with(variables)->root == "n0:29501");
}

TEST_CASE("mpirun names no root", "[launcher]") {
  const auto task = task_with({{"OMPI_COMM_WORLD_RANK", "3"},
                               {"OMPI_COMM_WORLD_SIZE", "4"},
                               {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                               {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}});
  REQUIRE(task);
  CHECK(task->launcher == "openmpi");
  CHECK(task->node == 1);
  CHECK(task->local_tasks == 2);
  CHECK(task->root.empty());
}

TEST_CASE("a step of srun is a task, a batch script is none", "[launcher]") {
  std::map<std::string, std::string> variables{
      {"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "2"}, {"SLURM_LOCALID", "0"}, {"SLURM_NODEID", "1"}};
  CHECK_FALSE(task_with(variables));
  variables["SLURM_STEP_ID"] = "0";
  const auto task = task_with(variables);
  REQUIRE(task);
  CHECK(task->launcher == "slurm");
  CHECK(task->node == 1);
}

TEST_CASE("no launcher, one task, or nonsense", "[launcher]") {
  CHECK_FALSE(task_with({}));
  CHECK_FALSE(task_with({{"RANK", "0"}, {"WORLD_SIZE", "1"}}));
  CHECK_FALSE(task_with({{"RANK", "zero"}, {"WORLD_SIZE", "2"}}));
  CHECK_FALSE(task_with({{"RANK", "-1"}, {"WORLD_SIZE", "2"}}));
  CHECK_FALSE(task_with({{"RANK", "2"}, {"WORLD_SIZE", "2"}}));
  CHECK_FALSE(task_with({{"RANK", "0"}, {"WORLD_SIZE", "2000000000"}}));
  const auto odd = task_with({{"RANK", "1"},
                              {"WORLD_SIZE", "2"},
                              {"LOCAL_RANK", "-7"},
                              {"GROUP_RANK", "-7"},
                              {"MASTER_ADDR", "n0"},
                              {"MASTER_PORT", "2147483647"},
                              {"TORCHELASTIC_USE_AGENT_STORE", "True"}});
  REQUIRE(odd);
  CHECK(odd->local_task == 0);
  CHECK(odd->node == 1);
  CHECK(odd->root.empty());
}
