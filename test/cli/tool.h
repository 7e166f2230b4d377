// The tool as a process of its own, in an environment that holds nothing of the caller's NCCL
// settings, with a temporary directory that must be empty again afterwards.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/temp_dir.h"

namespace nnd::cli_test {

using Variables = std::map<std::string, std::string>;

struct Outcome {
  int exit_code = -1;  // 128 + signal where one ended it
  std::string out, err;

  nlohmann::json json() const { return nlohmann::json::parse(out); }
};

using TemporaryDir = test::TempDir;

class Tool {
 public:
  Tool(std::vector<std::string> arguments, const Variables& variables = {});
  ~Tool();  // kills it if it still runs
  Tool(const Tool&) = delete;
  Tool& operator=(const Tool&) = delete;

  void interrupt() const;    // Ctrl-C
  std::string said() const;  // what it has printed so far
  Outcome wait();
  // Where it keeps its temporary files: nothing is left there by a call that keeps nothing.
  const std::filesystem::path& temporary() const { return temporary_; }
  bool left_nothing() const { return std::filesystem::is_empty(temporary_); }
  // How many processes still have its temporary directory in their environment.
  int processes() const;

 private:
  TemporaryDir dir_;
  std::filesystem::path temporary_;
  pid_t pid_ = -1;
};

inline Outcome run_tool(const std::vector<std::string>& arguments,
                        const Variables& variables = {}) {
  return Tool(arguments, variables).wait();
}

}  // namespace nnd::cli_test
