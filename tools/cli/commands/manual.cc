#include <algorithm>
#include <map>

#include "cli/commands/describe.h"
#include "cli/commands/options.h"
#include "cli/common/output.h"
#include "cli/manual/completion.h"
#include "cli/manual/man_page.h"

namespace nnd::cli {

void add_manual(CLI::App& app, int&) {
  using Shell = std::string (*)(const CommandLine&);
  static const std::map<std::string, Shell> kShells{
      {"bash", bash_completion}, {"fish", fish_completion}, {"zsh", zsh_completion}};
  auto* const completion =
      app.add_subcommand("completion", "Prints what bash, zsh or fish need to complete a line");
  const auto shell = std::make_shared<std::string>();
  completion->add_option("SHELL", *shell, "source <(nccl-net-diag completion bash)")
      ->required()
      ->check(CLI::IsMember(&kShells));
  completion->callback([&app, shell] { print_out(kShells.at(*shell)(describe(app))); });

  std::vector<std::string> names;
  for (const auto* one : app.get_subcommands({})) names.push_back(one->get_name());
  auto* const manual =
      app.add_subcommand("manual", "Prints a man page: nccl-net-diag manual | man -l -");
  const auto command = std::make_shared<std::string>();
  manual->add_option("SUBCOMMAND", *command, "whose page; without one: the program's")
      ->check(CLI::IsMember(names));
  manual->callback([&app, command] {
    const auto line = describe(app);
    const auto one = std::find_if(line.commands.begin(), line.commands.end(),
                                  [&](const auto& entry) { return entry.name == *command; });
    print_out(one == line.commands.end() ? man_page(line) : man_page(line, *one));
  });
}

}  // namespace nnd::cli
