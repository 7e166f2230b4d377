#include "cli/launch/command.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "cli/common/call_error.h"
#include "cli/common/exit_code.h"
#include "cli/common/output.h"
#include "cli/common/parts.h"
#include "cli/launch/variables.h"

namespace nnd::cli {

namespace fs = std::filesystem;

namespace {

// Where NCCL keeps a plugin's name.
constexpr std::size_t kLongestName = 255;

std::string of_caller(const std::string& name) {
  const char* const value = std::getenv(name.c_str());
  return value == nullptr ? "" : value;
}

std::vector<Variable> variables(bool by_name) {
  require_plugin();
  const auto plugin = fs::canonical(plugin_file());
  const auto text = plugin.string();
  // What separates NCCL's list of plugins, or the loader's of directories.
  const char* const separators = by_name ? ":;" : ",";
  if (text.find_first_of(separators) != std::string::npos || text.size() > kLongestName)
    throw CallError(kNotExamined, "place",
                    text +
                        " is no path that NCCL takes: at most 255 characters, without comma, "
                        "colon and semicolon. Install the plugin elsewhere",
                    text);
  return launch_variables({plugin, by_name}, of_caller);
}

}  // namespace

Answer run_program(const std::vector<std::string>& program, bool by_name) {
  for (const auto& [name, value] : variables(by_name)) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> words;
  for (const auto& word : program) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  execvp(words.front(), words.data());
  throw CallError(kWrongCall, "program",
                  program.front() + " can't be started: " + std::strerror(errno), program.front());
}

Answer show_environment(const Calling& calling, bool by_name) {
  const auto all = variables(by_name);
  if (!calling.json) {
    for (const auto& one : all) print_out(as_export(one));
    return already_told(kFine);
  }
  Answer out;
  out.judges = false;
  out.verdict = "With these variables NCCL loads the plugin.";
  for (const auto& [name, value] : all) out.body["variables"][name] = value;
  return out;
}

}  // namespace nnd::cli
