#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>

#include "cli/manual/completion.h"

namespace nnd::cli {

namespace {

// Text within single quotes, as _arguments reads it.
std::string zsh_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else if (c == '[' || c == ']' || c == ':' || c == '\\') {
      out += '\\';
      out += c;
    } else {
      out += c == '\n' ? ' ' : c;
    }
  }
  return out;
}

std::string action_of(const OptionEntry& option) {
  const auto words = fmt::format("{}", fmt::join(option.choices, " "));
  if (option.takes != Takes::kFile) return words.empty() ? " " : "(" + words + ")";
  if (words.empty()) return "_files";
  return fmt::format("{{_alternative \"names:name:({})\" \"files:file:_files\"}}", words);
}

std::string spec_of(const OptionEntry& option) {
  if (option.positional())  // files may be several
    return fmt::format("'{}:{}:{}'", option.takes == Takes::kFile ? "*" : ":",
                       zsh_text(option.value), action_of(option));
  std::string value;
  if (option.takes != Takes::kNothing)
    value = fmt::format("{}:{}:{}", option.value_optional ? ":" : "", zsh_text(option.value),
                        action_of(option));
  std::string specs;
  for (const auto& name : option.names)
    specs += fmt::format("{}'({}){}[{}]{}'", specs.empty() ? "" : " ", fmt::join(option.names, " "),
                         name, zsh_text(option.help), value);
  return specs;
}

std::string specs_of(const CommandEntry& command) {
  std::string out;
  for (const auto& option : command.options) out += " \\\n    " + spec_of(option);
  return out;
}

}  // namespace

std::string zsh_completion(const CommandLine& line) {
  std::string commands, cases;
  for (const auto& command : line.commands) {
    commands += fmt::format(" \\\n      '{}:{}'", command.name, zsh_text(command.what));
    cases += fmt::format("  {}) _arguments{} ;;\n", command.name, specs_of(command));
  }
  return fmt::format(R"(#compdef nccl-net-diag
_nccl_net_diag() {{
  local curcontext=$curcontext state line
  _arguments -C{} \
    '1: :->subcommand' '*:: :->argument'
  case $state in
  subcommand)
    local -a subcommands=({})
    _describe subcommand subcommands
    return ;;
  argument) ;;
  *) return ;;
  esac
  case $words[1] in
{}  esac
}}
if [[ $funcstack[1] == _nccl_net_diag ]]; then _nccl_net_diag "$@"; else compdef _nccl_net_diag nccl-net-diag; fi
)",
                     specs_of(line.program), commands, cases);
}

}  // namespace nnd::cli
