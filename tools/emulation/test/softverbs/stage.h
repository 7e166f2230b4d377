// A scenario put on stage: its sysfs trees in a directory of their own, and processes on its hosts.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "softverbs/scenario.h"
#include "support/temp_dir.h"

namespace stage {

using TemporaryDirectory = nnd::test::TempDir;

// Commands in, answers out (see peer/main.cc). Killed at the end of its life.
class Process {
 public:
  Process(const std::vector<std::string>& command, const softverbs::Environment& environment);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  std::string ask(const std::string& line);
  void tell(const std::string& line);
  std::string listen();
  void kill();
  void stop();  // its engine as well, until it is continued
  void go_on();
  int wait();  // its exit status

 private:
  pid_t pid_ = -1;
  int to_ = -1;
  int from_ = -1;
};

class Stage {
 public:
  explicit Stage(const std::string& toml);

  // A peer on that host with a QP on that device.
  std::unique_ptr<Process> peer(const std::string& host, const std::string& device = "");
  std::unique_ptr<Process> run(const std::string& host, const std::vector<std::string>& command);
  const std::filesystem::path fabric() const { return directory_.path() / "fabric"; }
  std::filesystem::path sysfs(const std::string& host) const { return directory_.path() / host; }

 private:
  TemporaryDirectory directory_;
  softverbs::Scenario scenario_;
  std::map<std::string, softverbs::Environment> environments_;
};

// Connects two peers to each other; extra goes to both, such as a timeout. The errno of the first.
std::string connect(Process& a, Process& b, const std::string& extra = "");

}  // namespace stage
