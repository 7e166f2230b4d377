// What a job's environment needs for NCCL to load the plugin.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace nnd::cli {

struct Variable {
  std::string name, value;
};

// The value of a variable of the caller's, "" where it is unset.
using Environment = std::function<std::string(const std::string& name)>;

struct Launch {
  std::filesystem::path plugin;  // absolute
  // NCCL 2.18 to 2.20 look for a name only, in LD_LIBRARY_PATH and where the loader looks.
  bool by_name = false;
};

// What is to be set, in the order in which it is told. A net plugin that the caller had chosen is
// wrapped, a profiler that it had chosen stays.
std::vector<Variable> launch_variables(const Launch& launch, const Environment& environment);

// "export NAME='VALUE'", for a shell to evaluate.
std::string as_export(const Variable& variable);

}  // namespace nnd::cli
