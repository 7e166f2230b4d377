#include "cli/rehearse/program_job.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "cli/common/call_error.h"
#include "cli/common/environment.h"
#include "cli/common/exit_code.h"
#include "softverbs/belonging.h"

namespace nnd::cli {

std::string gpu_runtime() {
  const auto file = softverbs::belonging(NND_SOFTCUDA_INSTALLED, NND_SOFTCUDA_BUILT);
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored))
    throw CallError(kNotExamined, "parts",
                    file.string() +
                        " is not there: the program needs the files that are "
                        "installed with it");
  return file.string();
}

std::vector<softcuda::Variables> program_nodes(const softcuda::JobSpec& spec,
                                               const std::string& logs, int port) {
  std::vector<softcuda::Variables> nodes;
  const auto runtime = gpu_runtime();
  for (int node = 0; node < spec.nodes; ++node) {
    auto& own = nodes.emplace_back(softcuda::program_variables(spec, node, runtime));
    own["NCCL_NET_DIAG_FILE"] = pattern_of(logs) + "/%h.%p.jsonl";
    const softcuda::Variables place{{"NNODES", std::to_string(spec.nodes)},
                                    {"NODE_RANK", std::to_string(node)},
                                    {"NPROC_PER_NODE", std::to_string(spec.gpus_per_node)},
                                    {"MASTER_ADDR", "127.0.0.1"},
                                    {"MASTER_PORT", std::to_string(port)}};
    for (const auto& [name, value] : place) {
      own[name] = value;
      own["PET_" + name] = value;
    }
    own["PET_LOCAL_ADDR"] = "127.0.0.1";
    if (spec.gpus_per_node > 1) continue;
    own["RANK"] = own["NODE_RANK"];
    own["WORLD_SIZE"] = own["NNODES"];
    own["LOCAL_RANK"] = "0";
  }
  return nodes;
}

int free_port() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  const bool known = fd >= 0 && bind(fd, any, size) == 0 && getsockname(fd, any, &size) == 0;
  const int error = errno;
  if (fd >= 0) close(fd);
  if (!known)
    throw CallError(kNotExamined, "port",
                    fmt::format("no port of 127.0.0.1: {}", std::strerror(error)));
  return ntohs(address.sin_port);
}

}  // namespace nnd::cli
