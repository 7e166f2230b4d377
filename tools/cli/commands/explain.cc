#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/commands/options.h"
#include "cli/explain/command.h"

namespace nnd::cli {

namespace {

constexpr const char* kExplain =
    "What a cause means, how it is recognised, and what to do about it.\n\n"
    "A cause is found by its id as a log names it (QP-110), by an errno (110, ETIMEDOUT), by a\n"
    "completion's status (12, RETRY_EXC_ERR), by a result or a line of NCCL's own "
    "(ncclSystemError,\n"
    "\"Call to ibv_modify_qp failed\"), or by words of its title and explanation. Where several "
    "fit\n"
    "alike they are listed, the likeliest first.\n\n"
    "Exit code 0: something was found; 2: nothing fits, and what was perhaps meant is named.";

}  // namespace

void add_explain(CLI::App& app, int& exit_code) {
  const auto words = std::make_shared<std::vector<std::string>>();
  auto* const command = add_command(app, "explain", kExplain, exit_code, [words](const Calling&) {
    return explain_cause(fmt::format("{}", fmt::join(*words, " ")));
  });
  command->add_option("CAUSE", *words,
                      "an id, a number, a name or a line of a log; without one: all causes");
}

}  // namespace nnd::cli
