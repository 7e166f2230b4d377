#include "cli/commands/options.h"
#include "cli/explain/command.h"

namespace nnd::cli {

void add_explain(CLI::App& app, int& exit_code) {
  const auto cause = std::make_shared<std::string>();
  auto* const command = add_command(
      app, "explain", "What a cause means, how it is recognised, and what to do about it",
      exit_code, [cause](const Calling&) { return explain_cause(*cause); });
  command->add_option("CAUSE", *cause, "as a log names it: QP-110; without one: all of them");
}

}  // namespace nnd::cli
