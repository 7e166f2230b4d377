#include "cli/rehearse/program_job.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <random>

#include "cli/common/call_error.h"
#include "cli/common/environment.h"
#include "cli/common/exit_code.h"
#include "cli/common/parts.h"
#include "softcuda/runtime_names.h"

namespace nnd::cli {

namespace fs = std::filesystem;

namespace {

constexpr int kFirstPort = 10'000;
constexpr int kLastPort = 32'768;

// The first of the ports that the kernel gives to whoever asks for any.
int first_ephemeral() {
  std::ifstream file("/proc/sys/net/ipv4/ip_local_port_range");
  int first = 0;
  return file >> first && first > kFirstPort ? first : kLastPort;
}

bool is_free(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  const bool bound = bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  close(fd);
  return bound;
}

}  // namespace

std::string gpu_runtime(const fs::path& folder) {
  require_gpu_runtime();
  return softcuda::link_runtime(gpu_runtime_file(), folder).string();
}

std::vector<softcuda::Variables> program_nodes(const softcuda::JobSpec& spec,
                                               const std::string& runtime, const std::string& logs,
                                               int port) {
  std::vector<softcuda::Variables> nodes;
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
  std::random_device random;
  std::uniform_int_distribution<int> ports(kFirstPort, first_ephemeral() - 1);
  for (int attempt = 0; attempt < 100; ++attempt)
    if (const int port = ports(random); is_free(port)) return port;
  throw CallError(kNotExamined, "port", "100 ports of this host were tried, and none is free");
}

}  // namespace nnd::cli
