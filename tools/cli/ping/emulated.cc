#include "cli/ping/emulated.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/common/call_error.h"
#include "cli/common/exit_code.h"
#include "cli/common/scenario.h"
#include "cli/exchange/seal.h"

extern char** environ;

namespace nnd::cli {

namespace {

using Environment = std::map<std::string, std::string>;

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (auto& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

// The tool again, ended when this process is.
class Self {
 public:
  // output: its standard output; -1: this process's.
  Self(std::vector<std::string> arguments, const Environment& more, int output) {
    std::vector<std::string> environment;
    for (char** one = environ; *one != nullptr; ++one) {
      const std::string text = *one;
      if (!more.contains(text.substr(0, text.find('=')))) environment.push_back(text);
    }
    for (const auto& [name, value] : more) environment.push_back(name + "=" + value);
    const auto argument_list = pointers(arguments), variable_list = pointers(environment);
    pid_ = fork();
    if (pid_ < 0) throw CallError(kNotExamined, "fork", "no process can be started");
    if (pid_ > 0) return;
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (output >= 0) dup2(output, STDOUT_FILENO);
    execve("/proc/self/exe", argument_list.data(), variable_list.data());
    _exit(127);
  }
  ~Self() {
    if (pid_ < 0) return;
    kill(pid_, SIGTERM);
    waitpid(pid_, nullptr, 0);
  }
  Self(const Self&) = delete;
  Self& operator=(const Self&) = delete;

  int wait(const std::function<bool()>& stop) {
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

 private:
  pid_t pid_ = -1;
};

// Until the other side closes it, or a line is complete.
std::string read_line(int fd) {
  std::string out;
  for (char c = 0; read(fd, &c, 1) == 1 && c != '\n';) out += c;
  return out;
}

// This process's own, without those that are answered here.
std::vector<std::string> own_arguments() {
  std::ifstream file("/proc/self/cmdline");
  std::vector<std::string> out;
  bool value = false;
  for (std::string one; std::getline(file, one, '\0');) {
    bool named = false, joined = false;
    for (const std::string option : {"--scenario", "--nccl"}) {
      named = named || one == option;
      joined = joined || one.starts_with(option + "=");
    }
    if (!value && !named && !joined) out.push_back(one);
    value = !value && named;
  }
  return out;
}

}  // namespace

int ping_on_fabric(const std::string& scenario, const std::string& nccl,
                   const std::function<bool()>& stop) {
  const EmulatedHosts hosts(load_scenario(scenario));
  const auto& all = hosts.scenario().hosts;
  if (all.size() < 2)
    throw CallError(kWrongCall, "scenario", scenario + " has one host; a ping is between two",
                    scenario);
  const auto token = new_token();
  const auto on = [&](const std::string& host) {
    auto out = hosts.environment(host);
    out["NCCL_NET_DIAG_TOKEN"] = token;
    return out;
  };
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw CallError(kNotExamined, "pipe", "no pipe can be made");
  Self listener(
      {"nccl-net-diag", "ping", "--listen", "127.0.0.1:0", "--nccl", nccl, "--json", "--quiet"},
      on(all[1].name), ends[1]);
  close(ends[1]);
  const auto line = read_line(ends[0]);
  close(ends[0]);
  const auto told = nlohmann::json::parse(line, nullptr, false);
  if (!told.is_object() || !told.contains("listening"))
    throw CallError(kNotExamined, "listener", "the other side did not start: " + line);
  auto arguments = own_arguments();
  arguments.push_back("127.0.0.1:" + told["listening"]["port"].dump());
  arguments.insert(arguments.end(), {"--nccl", nccl});
  return Self(arguments, on(all[0].name), -1).wait(stop);
}

}  // namespace nnd::cli
