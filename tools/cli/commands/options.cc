#include "cli/commands/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

namespace nnd::cli {

CLI::App* add_command(CLI::App& app, const std::string& name, const std::string& what,
                      int& exit_code, std::function<Answer(const Calling&)> run) {
  const auto calling = std::make_shared<Calling>();
  calling->command = name;
  // The list of subcommands shows the first paragraph only.
  const auto paragraph = what.find("\n\n");
  auto* const command = app.add_subcommand(name, what.substr(0, paragraph));
  if (paragraph != std::string::npos) command->footer(what.substr(paragraph));
  auto* const json = command->add_flag("--json", calling->json, "the result as JSON");
  command->add_flag("--brief", calling->brief, "the verdict, and a line for each thing looked at")
      ->excludes(json);
  command->add_flag("-v,--verbose", calling->verbose, "nothing folded")->excludes(json);
  command->add_flag("-q,--quiet", calling->quiet, "no progress on stderr");
  static const std::map<std::string, When> kWhen{
      {"auto", When::kAuto}, {"always", When::kAlways}, {"never", When::kNever}};
  command
      ->add_option_function<std::string>(
          "--color", [calling](const std::string& when) { calling->color = kWhen.at(when); },
          "auto, always or never; auto: on a terminal, unless NO_COLOR is set")
      ->check(CLI::IsMember(&kWhen))
      ->type_name("WHEN");
  command->callback([calling, &exit_code, run = std::move(run)] {
    exit_code = answer(*calling, [&] { return run(*calling); });
  });
  return command;
}

std::string redacted_command_line(const CLI::App& command) {
  std::string out = "nccl-net-diag " + command.get_name();
  for (const auto* option : command.get_options()) {
    if (option->count() == 0) continue;
    if (!option->get_positional()) out += " " + option->get_name();
    if (option->check_lname("token"))
      out += " ...";
    else if (option->get_items_expected_max() != 0)
      out += fmt::format(" {}", fmt::join(option->results(), option->get_positional() ? " " : ","));
  }
  return out;
}

}  // namespace nnd::cli
