// The tool as a process of its own, in an environment without the caller's NCCL settings.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

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

// A folder of its own, removed with everything in it.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  // The path of a file with this content.
  std::string file(const std::string& name, const std::string& content) const;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace nnd::check_test
