#include "policy/hca_list.h"

#include <fmt/format.h>

#include <algorithm>

namespace nnd::policy {

namespace {

using facts::Hca;
using facts::HcaEntry;

using Names = std::vector<std::string>;

bool whole_name(const facts::Node& node, const std::string& name) {
  return std::any_of(node.hcas.begin(), node.hcas.end(),
                     [&name](const Hca& hca) { return hca.name == name; });
}

bool all_whole(const facts::Node& node, const Names& names) {
  return std::all_of(names.begin(), names.end(),
                     [&node](const std::string& name) { return whole_name(node, name); });
}

bool matches_some(const facts::Node& node, const std::string& name) {
  return std::any_of(node.hcas.begin(), node.hcas.end(),
                     [&name](const Hca& hca) { return hca.name.starts_with(name); });
}

std::string setting(const char* sign, bool whole, const Names& names) {
  return fmt::format("NCCL_IB_HCA={}{}{}", sign, whole ? "=" : "", fmt::join(names, ","));
}

}  // namespace

std::vector<std::string> meant_hca_lists(const facts::Node& node) {
  const facts::HcaFilter& filter = node.filter;
  Names use;
  Names leave_out;
  for (const HcaEntry& entry : filter.entries) {
    const auto start = std::min(entry.name.find_first_not_of("^="), entry.name.size());
    const std::string name = entry.name.substr(start);
    // Ports and rails of a name that NCCL can't find are not interpreted further.
    if (name.empty() || entry.port >= 0 || entry.rail >= 0 || !matches_some(node, name)) return {};
    const bool excluded =
        filter.exclude || entry.name.substr(0, start).find('^') != entry.name.npos;
    (excluded ? leave_out : use).push_back(name);
  }
  std::erase_if(use, [&leave_out](const std::string& name) {
    return std::find(leave_out.begin(), leave_out.end(), name) != leave_out.end();
  });
  const bool whole = all_whole(node, use);
  // As prefixes, the names to use must not let in what is to be left out.
  const bool apart =
      whole || std::none_of(leave_out.begin(), leave_out.end(), [&use](const std::string& out) {
        return std::any_of(use.begin(), use.end(),
                           [&out](const std::string& name) { return out.starts_with(name); });
      });
  std::vector<std::string> out;
  if (!use.empty() && apart) out.push_back(setting("", whole, use));
  if (!leave_out.empty()) out.push_back(setting("^", all_whole(node, leave_out), leave_out));
  std::erase(out, "NCCL_IB_HCA=" + filter.text);  // it is set already
  return out;
}

}  // namespace nnd::policy
