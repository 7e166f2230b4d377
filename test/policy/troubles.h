// What the scenarios of these tests break, for the test that none is forgotten.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "policy/judged.h"

namespace nnd::integration {

// A rule ("env.lint" for the environment) and the cause that it tells.
using Trouble = std::pair<std::string, std::string>;

// Of "rule CAUSE ...".
inline Trouble trouble(const std::string& verdict) {
  const auto first = verdict.find(' ');
  const auto second = verdict.find(' ', first + 1);
  return {verdict.substr(0, first), verdict.substr(first + 1, second - first - 1)};
}

// A node on which something is told, and what it is.
struct BrokenNode {
  std::string verdict, lint;  // "rule CAUSE device", "CAUSE VARIABLE"; one may be empty
  std::string scenario, policy;
  Environment environment;
  Surroundings surroundings;
};
std::vector<BrokenNode> broken_nodes();

std::set<Trouble> node_troubles();
std::set<Trouble> pair_troubles();

}  // namespace nnd::integration
