#include "cli/preflight/odd_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "cli/common/gid_text.h"
#include "report/meaning.h"

namespace nnd::cli {

using report::Deviation;

namespace {

std::string value_text(const Deviation& odd, const std::string& value) {
  if (odd.what.starts_with(kSpeedOf) && !value.empty())
    return fmt::format("{:g} Gbit/s", std::strtod(value.c_str(), nullptr) / 1000);
  if (odd.what == kMemlock && value != "unlimited")
    return fmt::format("{} KiB", std::strtoull(value.c_str(), nullptr, 10) / 1024);
  if (odd.what == kInUse && value == "not set") return "none";
  constexpr std::size_t kLongest = 120;
  if (value.empty()) return "not known";
  return value.size() <= kLongest ? value : value.substr(0, kLongest) + "...";
}

// "mlx5_0 runs at", "NCCL_IB_TC is".
std::string subject_of(const Deviation& odd) {
  const auto device = report::device_of(odd.what);
  if (odd.what.starts_with(kSpeedOf)) return device + " runs at";
  if (odd.what.starts_with(kStateOf)) return device + " is";
  if (odd.what == kInUse) return "The HCAs that NCCL takes are";
  return (is_variable(odd) ? odd.what : "The " + odd.what) + " is";
}

std::string nodes_text(std::size_t count) {
  return count == 1 ? "the other node" : fmt::format("the other {} nodes", count);
}

std::string doubt_of(const Deviation& odd) {
  if (!is_tie(odd) || !odd.serious) return "";
  return is_two_kinds(odd) ? " (two kinds of nodes, as many of each)"
                           : " (which of the two is wrong can't be told from two)";
}

// Of which kind a GID is, and with `whole` which one.
std::string gid_of(const log::Hca* hca, bool whole) {
  if (hca == nullptr || !hca->dev.gid_index || hca->dev.gid.empty()) return "no GID";
  std::string kind = hca->gid_type;
  if (hca->dev.gid.starts_with("fe80:") && hca->dev.link_layer != "InfiniBand")
    kind += ", link-local";
  if (!hca->dev.subnet.empty()) kind += fmt::format(", subnet {}", hca->dev.subnet);
  return fmt::format("{}{} at index {}", whole ? without_mapping(hca->dev.gid) + ", " : "", kind,
                     *hca->dev.gid_index);
}

std::string gid_text(const std::vector<Node>& nodes, const Deviation& odd) {
  const auto device = report::device_of(odd.what);
  std::set<std::string> told;
  std::vector<std::string> parts;
  for (const auto& one : odd.others) {
    told.insert(one.who.begin(), one.who.end());
    parts.push_back(fmt::format("{} on {}",
                                gid_of(hca_of(nodes[one.members.front()], device), true),
                                fmt::join(one.who, ", ")));
  }
  const auto other = std::find_if(nodes.begin(), nodes.end(), [&](const Node& node) {
    return !told.contains(node.host()) && hca_of(node, device) != nullptr;
  });
  if (odd.usual_count != 0 && other != nodes.end())
    parts.push_back(fmt::format("{} on {}", gid_of(hca_of(*other, device), false),
                                nodes_text(odd.usual_count)));
  return fmt::format("NCCL will use for {} {}{}.", device, fmt::join(parts, ", and "),
                     doubt_of(odd));
}

std::string subnet_text(const std::vector<Node>& nodes, const Deviation& odd) {
  const auto device = report::device_of(odd.what);
  std::vector<std::string> parts;
  for (const auto& one : odd.others) {
    const auto* const hca = hca_of(nodes[one.members.front()], device);
    const auto netdev = hca != nullptr ? hca->dev.netdev : std::string();
    parts.push_back(fmt::format("{}{} of {} has {} in {}", device,
                                netdev.empty() ? "" : " (" + netdev + ")", fmt::join(one.who, ", "),
                                hca != nullptr ? without_mapping(hca->dev.gid) : "no address",
                                one.value));
  }
  if (odd.usual_count != 0)
    parts.push_back(fmt::format("{} in {}",
                                odd.usual_count == 1
                                    ? "that of the other node is"
                                    : fmt::format("those of {} are", nodes_text(odd.usual_count)),
                                odd.usual));
  return fmt::format("{}{}.", fmt::join(parts, ", "), doubt_of(odd));
}

}  // namespace

bool is_variable(const Deviation& odd) {
  return odd.what.starts_with("NCCL") || odd.what.starts_with("UCX");
}

bool is_two_kinds(const Deviation& odd) {
  return odd.usual_count == 0 &&
         std::all_of(odd.others.begin(), odd.others.end(),
                     [](const Deviation::Differing& one) { return one.who.size() > 1; });
}

bool is_tie(const Deviation& odd) {
  return odd.usual_count == 0 && (is_two_kinds(odd) || !report::guilty_camp(odd));
}

const log::Hca* hca_of(const Node& node, const std::string& device) {
  for (const auto& hca : node.process.hcas)
    if (hca.dev.name == device) return &hca;
  return nullptr;
}

std::string odd_text(const std::vector<Node>& nodes, const Deviation& odd) {
  if (odd.what.starts_with(kSubnetOf)) return subnet_text(nodes, odd);
  if (odd.what.starts_with("GID ") && odd.what.find(" of ") != std::string::npos)
    return gid_text(nodes, odd);
  std::vector<std::string> parts;
  for (const auto& one : odd.others)
    parts.push_back(fmt::format("{} on {}", value_text(odd, one.value), fmt::join(one.who, ", ")));
  if (odd.usual_count != 0)
    parts.push_back(
        fmt::format("{} on {}", value_text(odd, odd.usual), nodes_text(odd.usual_count)));
  return fmt::format("{} {}{}.", subject_of(odd), fmt::join(parts, ", and "), doubt_of(odd));
}

std::string odd_remedy(const std::vector<Node>& nodes, const Deviation& odd,
                       const Finding& finding) {
  // What the node's own rules say of the same HCA and the same cause knows more than comparison.
  for (const Node& node : nodes) {
    if (std::find(finding.hosts.begin(), finding.hosts.end(), node.host()) == finding.hosts.end())
      continue;
    for (const NodeVerdict& verdict : node.verdicts)
      if (verdict.cause == finding.cause && verdict.device == finding.device &&
          !finding.device.empty() && !verdict.remedy.empty())
        return verdict.remedy;
  }
  const std::string hosts = fmt::format("{}", fmt::join(finding.hosts, ", "));
  if (odd.what.starts_with(kSubnetOf))
    return fmt::format("Correct the address or the mask of {} on {}.", finding.device, hosts);
  if (odd.what.starts_with("NCCL_") || odd.what.starts_with("UCX_"))
    return fmt::format("Give all nodes the same {} (the launcher must pass it on), or unset it.",
                       odd.what);
  if (odd.what == "NCCL")
    return "Give all nodes the same NCCL: look at LD_LIBRARY_PATH and at what the framework "
           "brings.";
  if (!odd.serious) return "Make it the same on all nodes when there is time.";
  return fmt::format("Repair it on {}.", hosts);
}

}  // namespace nnd::cli
