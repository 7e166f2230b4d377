#include "cli/check/command.h"
#include "cli/commands/options.h"
#include "cli/common/scenario.h"
#include "log/nccl_version.h"

namespace nnd::cli {

namespace {

std::string is_version(const std::string& text) {
  return log::version_code(text) == 0 ? "\"" + text + "\" is no version like 2.28.9"
                                      : std::string();
}

}  // namespace

void add_check(CLI::App& app, int& exit_code) {
  constexpr int kMostHcas = 1024;
  const auto options = std::make_shared<CheckOptions>();
  auto* const command = add_command(
      app, "check", "What NCCL would do with this node's HCAs, and why, before any job runs",
      exit_code, [options](const Calling&) { return check(*options); });
  command
      ->add_option("--policy", options->policy,
                   "policy file; by default the one that a job would take")
      ->type_name("FILE");
  command->add_option("--mode", options->mode, "observe, warn or enforce; by default a job's")
      ->check(CLI::IsMember({"observe", "warn", "enforce"}));
  command
      ->add_option("--expect-hcas", options->expect_hcas, "exit code 1 where fewer HCAs are usable")
      ->check(CLI::Range(0, kMostHcas));
  command
      ->add_option("--fail-on", options->fail_on,
                   "exit code 1 also where something is refused (refuse), or warned of (warn)")
      ->check(CLI::IsMember({"warn", "refuse"}));
  command
      ->add_option("--nccl", options->nccl,
                   "the NCCL whose rules count, as 2.28.9; by default the newest known")
      ->check(CLI::Validator(is_version, "VERSION"));
  auto* const root =
      command
          ->add_option(
              "--root", options->root,
              "HOST or HOST:PORT where a job's ranks meet: by which interface this node goes "
              "there, and what it answers")
          ->type_name("HOST");
  auto* const scenario = command->add_option("--scenario", options->scenario, kScenarioHelp)
                             ->type_name("NAME|FILE")
                             ->excludes(root);  // whose interfaces this machine hasn't
  command
      ->add_option("--host", options->host, "which of the scenario's hosts; by default the first")
      ->needs(scenario);
}

}  // namespace nnd::cli
