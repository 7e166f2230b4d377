#include "cli/commands/options.h"
#include "cli/common/scenario.h"
#include "cli/rehearse/command.h"

namespace nnd::cli {

namespace {

constexpr const char* kRehearse =
    "Runs a real NCCL job over this machine's own HCAs without taking a GPU.\n\n"
    "libnccl's own code searches the topology, chooses HCAs, connects and moves data, which is\n"
    "verified. The GPU is played in each rank's process (softcuda): its memory is host memory.\n\n"
    "By hand, this host plays --nodes nodes of --ranks ranks each, for NCCL different machines.\n"
    "Under torchrun, mpirun or srun each task runs --ranks ranks of one job over all hosts; task\n"
    "0 listens on --root HOST:PORT (torchrun: MASTER_ADDR and MASTER_PORT) and prints the "
    "result.\n\n"
    "With -- PROGRAM each node runs that program once, in the place of this job: any one that "
    "uses\n"
    "NCCL, such as torchrun train.py. It finds NNODES, NODE_RANK, NPROC_PER_NODE, MASTER_ADDR,\n"
    "MASTER_PORT and torchrun's own variables set. The exit code is then the program's.\n\n"
    "It shows: which HCAs are taken, which channel uses which HCA to which peer, that these pairs\n"
    "connect and that the data arrives, how fast it does from host memory, what NCCL and the shim\n"
    "say. It doesn't show: GPU memory and GPUDirect RDMA, NVLink, a GPU's bandwidth, NVLS and\n"
    "relaying through another GPU (PXN); rings, trees and PAT are played with all protocols.";

}  // namespace

void add_rehearse(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<RehearseOptions>();
  auto& plan = options->plan;
  auto* const command =
      add_command(app, "rehearse", kRehearse, exit_code,
                  [options](const Calling& calling) { return rehearse(*options, calling); });
  auto* const program =
      command
          ->add_option("program", options->program,
                       "behind --: run by each node in the place of rehearse's own job")
          ->type_name("PROGRAM");
  const auto own_job = [program](CLI::Option* option) { return option->excludes(program); };
  own_job(command->add_option("--nccl", plan.nccl, kNcclHelp))->type_name("FILE");
  auto* const nodes =
      command->add_option("--nodes", plan.nodes, "nodes that this host plays, without a launcher")
          ->check(CLI::Range(1, 64))
          ->capture_default_str();
  command->add_option("--ranks", plan.ranks, "ranks, and GPUs, per node (launcher: per task)")
      ->check(CLI::Range(1, 16))
      ->capture_default_str();
  own_job(command->add_option("--root", options->root,
                              "under a launcher: HOST:PORT where task 0 listens"));
  own_job(command->add_option(
              "--token-file", options->token_file,
              "under a launcher: a file whose first line is the secret by which the tasks "
              "know each other (also: variable NCCL_NET_DIAG_TOKEN; default: mpirun's own "
              "key, else the user's, in ~/.config/nccl-net-diag/token)"))
      ->type_name("FILE");
  command
      ->add_option("--topo", plan.topology,
                   "NCCL topology file (NCCL_TOPO_DUMP_FILE of a real job), also for the GPUs' "
                   "places")
      ->type_name("FILE");
  own_job(
      command->add_option("--collective", plan.collectives,
                          "all_reduce, all_gather, reduce_scatter, broadcast, reduce, sendrecv"))
      ->delimiter(',')
      ->capture_default_str();
  own_job(command->add_option("--size", plan.sizes, "bytes of the count argument: 65536, 64K, 4M"))
      ->delimiter(',')
      ->capture_default_str();
  own_job(command->add_option("--iterations", plan.iterations, "of each collective and size"))
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  auto* const deadline =
      command
          ->add_option("--deadline", plan.deadline_sec,
                       "seconds; then the ranks are ended (a program: only where it is given)")
          ->check(CLI::Range(1.0, 86400.0))
          ->capture_default_str();
  command->add_option("--scenario", options->scenario, kScenarioHelp)->type_name("NAME|FILE");
  command
      ->add_option("--logs", options->logs,
                   "directory below which event logs and NCCL's output stay, in a new directory of "
                   "each run (default: not kept)")
      ->type_name("DIR");
  command->parse_complete_callback([options, nodes, deadline] {
    options->nodes_given = nodes->count() > 0;
    options->deadline_given = deadline->count() > 0;
  });
}

}  // namespace nnd::cli
