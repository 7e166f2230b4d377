#include "cli/report/bandwidth_text.h"

#include <fmt/format.h>

#include "cli/report/names.h"

namespace nnd::cli {

using report::Bandwidth;

namespace {

// "; the ports that its ranks use carry 400 GB/s each way, and this is less than half of it"
std::string ports_text(const Bandwidth& one) {
  // Less than that isn't bound by what the ports carry.
  constexpr std::uint64_t kLarge = 64 << 20;
  if (!one.ports) return {};
  std::string out =
      fmt::format("; the ports that its ranks use carry {:.3g} GB/s a node each way", *one.ports);
  if (one.least_bytes < kLarge || !one.bus || *one.bus * 2 >= *one.ports) return out;
  out += ", and this is less than half of it";
  if (!one.through_host.empty())
    out += fmt::format(" (no GPUDirect RDMA on {})",
                       list({one.through_host.begin(), one.through_host.end()}));
  return out;
}

std::string line_of(const Bandwidth& one) {
  const auto bytes = static_cast<double>(one.least_bytes);
  const auto speed =
      one.bus ? fmt::format("{:.3g} GB/s on the bus ({:.3g} GB/s of data)", *one.bus, one.algorithm)
              : fmt::format("{:.3g} GB/s of data", one.algorithm);
  return fmt::format("{} of {} to {} in communicator {}{}: {}, by {} in {:.3g} s{}.",
                     one.collective, bytes_text(bytes), bytes_text(2 * bytes),
                     one.name.empty() ? one.comm : one.name,
                     one.nranks ? fmt::format(" of {} ranks", *one.nranks) : "", speed,
                     count_of(one.calls, "call", "calls"), one.sec, ports_text(one));
}

}  // namespace

std::vector<std::string> bandwidth_lines(const std::vector<Bandwidth>& bandwidths) {
  constexpr std::size_t kMost = 3;
  constexpr std::uint64_t kSmall = 64 << 10;  // below it a call's latency is all that shows
  std::vector<std::string> out;
  for (const Bandwidth& one : bandwidths)
    if (one.least_bytes >= kSmall && out.size() < kMost) out.push_back(line_of(one));
  return out;
}

nlohmann::json bandwidth_json(const std::vector<Bandwidth>& bandwidths) {
  auto out = nlohmann::json::array();
  for (const auto& one : bandwidths) {
    auto& json = out.emplace_back(nlohmann::json{{"communicator", one.comm},
                                                 {"collective", one.collective},
                                                 {"least_bytes", one.least_bytes},
                                                 {"ranks", one.ranks},
                                                 {"calls", one.calls},
                                                 {"sec", one.sec},
                                                 {"algorithm_gb_per_sec", one.algorithm}});
    if (!one.name.empty()) json["name"] = one.name;
    if (one.nranks) json["nranks"] = *one.nranks;
    if (one.bus) json["bus_gb_per_sec"] = *one.bus;
    if (one.ports) json["ports_gb_per_sec"] = *one.ports;
  }
  return out;
}

}  // namespace nnd::cli
