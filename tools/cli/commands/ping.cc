#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/commands/options.h"
#include "cli/common/scenario.h"
#include "cli/ping/command.h"

namespace nnd::cli {

namespace {

constexpr const char* kPing =
    "NCCL's own IB transport between two hosts, from host memory: no GPU is needed.\n\n"
    "On one host:    nccl-net-diag ping --listen\n"
    "  prints the line to run on the other, with a token that only the two know.\n"
    "On the other:   nccl-net-diag ping HOST --token TOKEN\n"
    "  connects each HCA port with the one of the same name over there, moves verified data,\n"
    "  measures, and prints the result. --matrix: each port with each.\n"
    "Under mpirun, srun or torchrun, one task a host: nccl-net-diag ping --hosts FILE (a line per\n"
    "  task, the first is where task 0 listens), with the token in NCCL_NET_DIAG_TOKEN.\n\n"
    "It says what NCCL takes of each host's HCAs and why, which GID and MTU it uses, which pairs\n"
    "connect, errno and cause of the others, what the policy says to each, and the environment to\n"
    "copy. Only the given hosts are talked to. The token never crosses the wire.\n\n"
    "It doesn't show: GPU memory and GPUDirect RDMA, more than one pair at a time, and what needs\n"
    "more than a connection's load.";

}  // namespace

void add_ping(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<PingOptions>();
  auto* const command =
      add_command(app, "ping", kPing, exit_code,
                  [options](const Calling& calling) { return ping(*options, calling); });
  command->add_option("HOST", options->target, "HOST or HOST:PORT where --listen runs");
  auto* const listen =
      command
          ->add_option("--listen", options->listen,
                       "wait here; on this address (ADDR or ADDR:PORT; by default all, port 18515; "
                       "port 0: any)")
          ->expected(0, 1);
  command
      ->add_option("--hosts", options->hosts_file,
                   "under a launcher: a file with a host a line, in the order of the tasks")
      ->type_name("FILE");
  command->add_option(
      "--token", options->token,
      "the secret that both sides know, 16 characters at least. Other users of this "
      "host can see a command line; better:");
  command
      ->add_option("--token-file", options->token_file,
                   "its first line is the token (also: variable NCCL_NET_DIAG_TOKEN)")
      ->type_name("FILE");
  command->add_flag("--matrix", options->run.matrix, "each HCA port here with each one there");
  command
      ->add_option("--hca", options->run.hcas,
                   "HCAs of this host: mlx5_0, mlx5_*, mlx5_0:1 (default: all that NCCL takes)")
      ->delimiter(',')
      ->allow_extra_args(false);  // what follows may be HOST
  command->add_option("--peer-hca", options->run.peer_hcas, "the same for the other host")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_option("--sizes", options->sizes, "messages for bandwidth: 64K,1M,8M")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->capture_default_str();
  command
      ->add_option("--duration", options->duration,
                   "seconds of each figure: latency, and bandwidth per size and direction")
      ->check(CLI::Range(0.001, 60.0))
      ->capture_default_str();
  command
      ->add_option("--pair-deadline", options->pair_deadline,
                   "seconds for a pair, after loading; then the next one has its turn")
      ->check(CLI::Range(0.1, 600.0))
      ->capture_default_str();
  command->add_option("--deadline", options->deadline, "seconds for everything, waiting included")
      ->check(CLI::Range(1.0, 86400.0))
      ->capture_default_str();
  command->add_option("--nccl", options->nccl, kNcclHelp)->type_name("FILE");
  command->add_option("--html", options->html, "the result as a page in this file, too")
      ->type_name("FILE");
  command
      ->add_option("--scenario", options->scenario,
                   std::string(kScenarioHelp) + "; its first two hosts ping each other")
      ->type_name("NAME|FILE");
  command->parse_complete_callback([options, listen, command] {
    options->listening = listen->count() > 0;
    options->command = redacted_command_line(*command);
  });
}

}  // namespace nnd::cli
