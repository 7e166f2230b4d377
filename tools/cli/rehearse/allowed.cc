#include "cli/rehearse/allowed.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <sstream>

namespace nnd::cli {

namespace {

// "mlx5_0" and "mlx5_1" of "mlx5_0+mlx5_1:1", which NCCL uses as one.
std::vector<std::string> members_of(const std::string& hca) {
  std::vector<std::string> out;
  std::istringstream names(hca.substr(0, hca.rfind(':')));
  for (std::string one; std::getline(names, one, '+');) out.push_back(one);
  return out;
}

// The HCA's port; of one that is merged with others, its first.
const HcaReport* port_of(const std::vector<HcaReport>& hcas, const std::string& host,
                         const std::string& name, const std::string& as_used) {
  const HcaReport* out = nullptr;
  for (const HcaReport& one : hcas) {
    if (one.host != host || one.dev.name != name) continue;
    if (one.dev.port_name() == as_used) return &one;
    if (out == nullptr) out = &one;
  }
  return out;
}

}  // namespace

std::optional<double> allowed_by_ports(const std::vector<Path>& paths,
                                       const std::vector<HcaReport>& hcas) {
  std::map<std::string, std::map<const HcaReport*, double>> used;  // by host: GB/s of its ports
  for (const Path& path : paths) {
    if (path.peer_host == path.host) return std::nullopt;
    for (const std::string& name : members_of(path.hca)) {
      const HcaReport* const port = port_of(hcas, path.host, name, path.hca);
      if (port == nullptr || port->dev.speed_mbps.value_or(0) <= 0) return std::nullopt;
      used[path.host][port] = static_cast<double>(*port->dev.speed_mbps) / 8000;
    }
  }
  std::optional<double> out;
  for (const auto& [host, ports] : used) {
    double all = 0;
    for (const auto& [port, gb_per_s] : ports) all += gb_per_s;
    out = std::min(out.value_or(all), all);
  }
  return out;
}

std::optional<log::BusFactors> bus_factors_of(const std::string& collective, double ranks) {
  if (collective == "sendrecv") return log::BusFactors{1, 1};
  std::string name;  // "AllReduce"
  bool first = true;
  for (const char c : collective) {
    if (c != '_')
      name += first ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    first = c == '_';
  }
  return log::bus_factors(name, ranks);
}

}  // namespace nnd::cli
