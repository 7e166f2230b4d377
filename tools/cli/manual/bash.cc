#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/manual/completion.h"

namespace nnd::cli {

namespace {

std::string names_of(const CommandEntry& command) {
  std::string names;
  for (const auto& option : command.options)
    for (const auto& name : option.names) names += (names.empty() ? "" : " ") + name;
  return names;
}

// The statement that completes a value.
std::string value_of(const OptionEntry& option) {
  std::string actions;
  if (!option.choices.empty()) actions += fmt::format("-W '{}'", fmt::join(option.choices, " "));
  if (option.takes == Takes::kFile) actions += actions.empty() ? "-f" : " -f";
  if (actions.empty()) return "return";
  const auto* files = option.takes == Takes::kFile ? "compopt -o filenames; " : "";
  return fmt::format("{}mapfile -t COMPREPLY < <(compgen {} -- \"$cur\"); return", files, actions);
}

}  // namespace

std::string bash_completion(const CommandLine& line) {
  std::string commands, values, words;
  for (const auto& command : line.commands) {
    commands += (commands.empty() ? "" : " ") + command.name;
    auto offered = names_of(command);
    bool files = false;
    for (const auto& option : command.options) {
      if (option.positional()) {
        files = files || option.takes == Takes::kFile;
        if (!option.choices.empty()) offered += fmt::format(" {}", fmt::join(option.choices, " "));
        continue;
      }
      if (option.takes == Takes::kNothing || option.value_optional) continue;
      std::string patterns;
      for (const auto& name : option.names)
        patterns += fmt::format("{}{}:{}", patterns.empty() ? "" : "|", command.name, name);
      values += fmt::format("    {}) {} ;;\n", patterns, value_of(option));
    }
    words +=
        fmt::format("    {}) words='{}'{} ;;\n", command.name, offered, files ? " files=1" : "");
  }
  return fmt::format(R"(# bash completion of nccl-net-diag
_nccl_net_diag() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} command= word words files=
  COMPREPLY=()
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    [[ " {0} " == *" $word "* ]] && {{ command=$word; break; }}
  done
  case $command:$prev in
{1}  esac
  case $command in
{2}    *) words='{0} {3}' ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
  [[ $files && $cur != -* ]] || return 0
  mapfile -t -O ${{#COMPREPLY[@]}} COMPREPLY < <(compgen -f -- "$cur")
  compopt -o filenames 2>/dev/null
}}
complete -F _nccl_net_diag nccl-net-diag
)",
                     commands, values, words, names_of(line.program));
}

}  // namespace nnd::cli
