#include "cli/common/tool_process.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "cli/common/call_error.h"
#include "cli/common/exit_code.h"

extern char** environ;

namespace nnd::cli {

namespace {

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (auto& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

}  // namespace

ToolProcess::ToolProcess(std::vector<std::string> arguments,
                         const std::map<std::string, std::string>& environment, int output) {
  std::vector<std::string> variables;
  for (char** one = environ; *one != nullptr; ++one) {
    const std::string text = *one;
    if (!environment.contains(text.substr(0, text.find('=')))) variables.push_back(text);
  }
  for (const auto& [name, value] : environment) variables.push_back(name + "=" + value);
  const auto argument_list = pointers_to(arguments), variable_list = pointers_to(variables);
  pid_ = fork();
  if (pid_ < 0) throw CallError(kNotExamined, "fork", "no process can be started");
  if (pid_ > 0) return;
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (output >= 0) dup2(output, STDOUT_FILENO);
  execve("/proc/self/exe", argument_list.data(), variable_list.data());
  _exit(127);
}

ToolProcess::~ToolProcess() {
  if (pid_ < 0) return;
  kill(pid_, SIGTERM);
  waitpid(pid_, nullptr, 0);
}

int ToolProcess::wait(const std::function<bool()>& stop) {
  constexpr int kPollMs = 20;
  int status = 0;
  bool told = false;
  while (waitpid(pid_, &status, WNOHANG) == 0) {
    if (!told && stop()) {
      kill(pid_, SIGINT);
      told = true;
    }
    poll(nullptr, 0, kPollMs);
  }
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : kNotExamined;
}

}  // namespace nnd::cli
