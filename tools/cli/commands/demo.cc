#include "cli/commands/options.h"
#include "cli/demo/command.h"

namespace nnd::cli {

void add_demo(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<DemoOptions>();
  auto* const command = add_command(
      app, "demo",
      "A real NCCL job on an emulated fabric, without a GPU, and what the shim logs of it",
      exit_code, [options](const Calling& calling) { return demo(*options, calling); });
  command
      ->add_option("--nccl", options->nccl,
                   "libnccl.so.2 to run: a file, its directory, or a version that "
                   "test/nccl/fetch-nccl has fetched")
      ->type_name("FILE|VERSION");
  command
      ->add_option("--scenario", options->scenario,
                   "the fabric: a TOML file, or a name that --list shows (default: "
                   "two-nodes-8-hca-bond; eight-nodes-8-hca-bond for more than 16 ranks)")
      ->type_name("NAME|FILE");
  command->add_option("--ranks", options->ranks, "processes, shared among the hosts")
      ->check(CLI::Range(2, 64))
      ->capture_default_str();
  command
      ->add_option("--mode", options->mode,
                   "what the shim does about a broken rule; off: NCCL without the shim")
      ->check(CLI::IsMember({"off", "observe", "warn", "enforce"}))
      ->capture_default_str();
  command->add_flag("--list", options->list, "show the scenarios there are");
}

}  // namespace nnd::cli
