// The tool as another process, on a host of an emulated fabric.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace nnd::cli {

// Ended when this process is, and by the destructor.
class ToolProcess {
 public:
  // environment: besides this process's own. output: its standard output; -1: this process's.
  // Throws CallError.
  ToolProcess(std::vector<std::string> arguments,
              const std::map<std::string, std::string>& environment, int output);
  ~ToolProcess();
  ToolProcess(const ToolProcess&) = delete;
  ToolProcess& operator=(const ToolProcess&) = delete;

  // Its exit code. `stop` is asked several times a second; true: it is interrupted, once.
  int wait(const std::function<bool()>& stop);

 private:
  pid_t pid_ = -1;
};

}  // namespace nnd::cli
