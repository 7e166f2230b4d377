// The tool as a process of its own, in an environment without the caller's NCCL settings.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/temp_dir.h"

namespace nnd::check_test {

using Environment = std::map<std::string, std::string>;

struct Outcome {
  int exit_code = -1;
  std::string out;
  std::string err;

  nlohmann::json json() const { return nlohmann::json::parse(out); }
};

Outcome run_tool(const std::vector<std::string>& arguments, const Environment& environment = {});

// An example's script, in the same kind of environment, with $NND_TOOL and a log of its own.
Outcome run_script(const std::string& script, const Environment& environment);

using Scratch = test::TempDir;

}  // namespace nnd::check_test
