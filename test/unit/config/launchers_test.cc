// Who a process is in its job, by the variables of whoever started it.
#include "config/launchers.h"

#include <map>

#include "support/catch.h"

using nnd::config::Launch;
using nnd::config::read_launch;

namespace {

using Variables = std::map<std::string, std::string>;

Launch launch_with(Variables variables) {
  return read_launch([variables = std::move(variables)](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string() : found->second;
  });
}

struct Row {
  const char* launcher;
  int rank, ranks;
  Variables variables;
};

}  // namespace

TEST_CASE("each launcher tells the rank and how many there are", "[launchers]") {
  const auto row = GENERATE(
      Row{"torchrun", 5, 8, {{"RANK", "5"}, {"WORLD_SIZE", "8"}}},
      Row{"openmpi", 3, 4, {{"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "4"}}},
      Row{"mvapich", 3, 4, {{"MV2_COMM_WORLD_RANK", "3"}, {"MV2_COMM_WORLD_SIZE", "4"}}},
      Row{"pmi", 3, 8, {{"PMI_RANK", "3"}, {"PMI_SIZE", "8"}}},
      Row{"jsrun", 1, 6, {{"JSM_NAMESPACE_RANK", "1"}, {"JSM_NAMESPACE_SIZE", "6"}}},
      Row{"flux", 1, 6, {{"FLUX_TASK_RANK", "1"}, {"FLUX_JOB_SIZE", "6"}}},
      Row{"slurm", 2, 4, {{"SLURM_PROCID", "2"}, {"SLURM_NTASKS", "4"}, {"SLURM_STEP_ID", "0"}}});
  const auto launch = launch_with(row.variables);
  CHECK(launch.launcher == row.launcher);
  CHECK(launch.rank == row.rank);
  CHECK(launch.ranks == row.ranks);
}

TEST_CASE("the inner launcher is asked first, and one of a single process last", "[launchers]") {
  const Variables step{{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}, {"SLURM_STEP_ID", "0"}};
  const Variables task{{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "2"}, {"SLURM_STEP_ID", "0"}};
  const auto with = [](Variables some, const Variables& more) {
    some.insert(more.begin(), more.end());
    return launch_with(std::move(some));
  };
  auto launch = with(step, {{"PMI_RANK", "3"}, {"PMI_SIZE", "8"}});
  CHECK(launch.launcher == "pmi");
  CHECK(launch.rank == 3);
  CHECK(launch.ranks == 8);
  launch = with(task, {{"RANK", "9"}, {"WORLD_SIZE", "16"}, {"LOCAL_RANK", "1"}});
  CHECK(launch.launcher == "torchrun");
  CHECK(launch.rank == 9);
  CHECK(launch.local_rank == 1);
  launch = with(task, {{"RANK", "0"}, {"WORLD_SIZE", "1"}});
  CHECK(launch.launcher == "slurm");
  CHECK(launch.rank == 1);
  launch = with(step, {});
  CHECK(launch.launcher == "slurm");
  CHECK(launch.ranks == 1);
  CHECK(with(task, {{"PMIX_RANK", "1"}}).launcher == "slurm");
}

TEST_CASE("how many tasks a node of Slurm's has", "[launchers]") {
  const auto on = [](const std::string& node, const std::string& list) {
    return launch_with({{"SLURM_PROCID", "0"},
                        {"SLURM_NTASKS", "9"},
                        {"SLURM_STEP_ID", "0"},
                        {"SLURM_NODEID", node},
                        {"SLURM_NTASKS_PER_NODE", "4"},
                        {"SLURM_STEP_TASKS_PER_NODE", list}})
        .local_ranks;
  };
  CHECK(on("0", "3") == 3);
  CHECK(on("2", "2(x3),1") == 2);
  CHECK(on("3", "2(x3),1") == 1);
  CHECK(on("4", "2(x3),1") == 4);  // which it isn't in; what was asked for
  CHECK(on("0", "2(x") == 4);
  CHECK(on("0", ",") == 4);
  CHECK(on("0", "") == 4);
}

TEST_CASE("what a batch script is told is no step, and nonsense is nobody's", "[launchers]") {
  CHECK(launch_with({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}}).launcher.empty());
  CHECK_FALSE(launch_with({{"RANK", "zero"}, {"WORLD_SIZE", "2"}}).rank);
  CHECK_FALSE(launch_with({{"RANK", "-1"}, {"WORLD_SIZE", "2"}}).rank);
  CHECK_FALSE(launch_with({{"RANK", "2"}, {"WORLD_SIZE", "2"}}).rank);
  const auto alone = launch_with({{"PMIX_RANK", "3"}});
  CHECK(alone.launcher == "pmix");
  CHECK(alone.rank == 3);
  CHECK_FALSE(alone.ranks);
}

TEST_CASE("a job, and how often it was begun anew", "[launchers]") {
  auto launch = launch_with({{"SLURM_JOB_ID", "77"},
                             {"SLURM_RESTART_COUNT", "1"},
                             {"TORCHELASTIC_RUN_ID", "train"},
                             {"TORCHELASTIC_RESTART_COUNT", "2"}});
  CHECK(launch.job == "77");
  CHECK(launch.run == "train");
  CHECK(launch.requeues == 1);
  CHECK(launch.restarts == 2);
  launch = launch_with({{"TORCHELASTIC_RUN_ID", "train"}});
  CHECK(launch.job == "train");
  CHECK_FALSE(launch.requeues);
  CHECK_FALSE(launch.restarts);
  // What torchrun says where it was given none.
  launch = launch_with({{"TORCHELASTIC_RUN_ID", "none"}});
  CHECK(launch.job.empty());
  CHECK(launch.run.empty());
}
