#include "cli/preflight/subnet_plan.h"

#include <algorithm>
#include <cstdlib>
#include <map>

#include "cli/preflight/odd_words.h"

namespace nnd::cli {

using report::Deviation;

SubnetPlan::SubnetPlan(const std::vector<Node>& nodes, const std::vector<Deviation>& all)
    : nodes_(nodes) {
  std::map<std::string, std::set<std::string>> own, others;  // by host: subnets
  for (const Deviation& odd : all) {
    if (!odd.what.starts_with(kSubnetOf)) continue;
    for (const auto& one : odd.others)
      for (const auto& host : one.who) {
        own[host].insert(one.value);
        if (odd.usual_count != 0) others[host].insert(odd.usual);
        for (const auto& other : odd.others)
          if (&other != &one) others[host].insert(other.value);
      }
  }
  for (const Node& node : nodes_) {
    const auto& differ = own[node.host()];
    std::set<std::string> all_of_it;
    for (const auto& hca : node.process.hcas)
      if (!hca.dev.subnet.empty()) all_of_it.insert(hca.dev.subnet);
    const bool swapped = std::all_of(differ.begin(), differ.end(), [&](const auto& one) {
      return others[node.host()].contains(one);
    });
    if (differ.size() > 1 && !swapped && 2 * differ.size() > all_of_it.size())
      elsewhere_.insert(node.host());
  }
}

bool SubnetPlan::may_mean(const Deviation& odd) const {
  if (odd.usual_count != 0) return false;
  // Another HCA of the other is in it: they are numbered, cabled or addressed otherwise.
  for (const auto& one : odd.others)
    for (const auto& other : odd.others)
      if (&one != &other && has_subnet(other.members.front(), one.value)) return false;
  const auto length = [](const std::string& subnet) {
    return subnet.substr(std::min(subnet.find('/'), subnet.size()));
  };
  const auto first = length(odd.others.front().value);
  const bool alike = std::all_of(odd.others.begin(), odd.others.end(),
                                 [&](const auto& one) { return length(one.value) == first; });
  constexpr int kSmall = 24;
  return alike && (is_two_kinds(odd) || std::atoi(first.c_str() + !first.empty()) >= kSmall);
}

bool SubnetPlan::has_subnet(std::size_t node, const std::string& subnet) const {
  const auto& hcas = nodes_[node].process.hcas;
  return std::any_of(hcas.begin(), hcas.end(),
                     [&](const log::Hca& hca) { return hca.dev.subnet == subnet; });
}

}  // namespace nnd::cli
