// The command line as a table: what the man pages and the shells' completions are made from.
#pragma once

#include <string>
#include <vector>

namespace nnd::cli {

// What stands behind an option's name.
enum class Takes { kNothing, kText, kFile };

struct OptionEntry {
  std::vector<std::string> names;  // "-q", "--quiet"; empty where it is known by its place alone
  std::string value;               // "FILE"; what a positional one is called
  Takes takes = Takes::kNothing;
  bool value_optional = false;
  std::vector<std::string> choices;  // words that are sensible values
  std::string help;
  std::string preset;  // the value without it, or empty

  bool positional() const { return names.empty(); }
};

struct CommandEntry {
  std::string name;   // "check"; of the program itself "nccl-net-diag"
  std::string what;   // a line
  std::string about;  // paragraphs, or empty
  std::vector<OptionEntry> options;
};

struct CommandLine {
  std::string version;
  CommandEntry program;
  std::vector<CommandEntry> commands;
};

}  // namespace nnd::cli
