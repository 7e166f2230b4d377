#include "cli/ping/emulated.h"

#include <fcntl.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/common/call_error.h"
#include "cli/common/exit_code.h"
#include "cli/common/scenario.h"
#include "cli/common/tool_process.h"
#include "cli/exchange/seal.h"

namespace nnd::cli {

namespace {

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
  ToolProcess listener(
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
  return ToolProcess(arguments, on(all[0].name), -1).wait(stop);
}

}  // namespace nnd::cli
