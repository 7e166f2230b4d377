#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>

#include "cli/manual/completion.h"

namespace nnd::cli {

namespace {

std::string fish_text(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out + "'";
}

std::string fish_line(const std::string& when, const OptionEntry& option) {
  auto out = "complete -c nccl-net-diag -n " + fish_text(when);
  for (const auto& name : option.names)
    out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  if (!option.help.empty()) out += " -d " + fish_text(option.help);
  if (!option.positional() && option.takes != Takes::kNothing && !option.value_optional)
    out += " -r";
  if (option.takes == Takes::kFile) out += " -F";
  if (!option.choices.empty())
    out += " -a " + fish_text(fmt::format("{}", fmt::join(option.choices, " ")));
  return out + "\n";
}

}  // namespace

std::string fish_completion(const CommandLine& line) {
  std::string out = "# fish completion of nccl-net-diag\ncomplete -c nccl-net-diag -f\n";
  for (const auto& option : line.program.options) out += fish_line("__fish_use_subcommand", option);
  for (const auto& command : line.commands) {
    out += fmt::format("complete -c nccl-net-diag -n __fish_use_subcommand -a {} -d {}\n",
                       command.name, fish_text(command.what));
    const auto when = "__fish_seen_subcommand_from " + command.name;
    for (const auto& option : command.options) out += fish_line(when, option);
  }
  return out;
}

}  // namespace nnd::cli
