// What the scenarios of these tests break, for the test that none is forgotten.
#pragma once

#include <set>
#include <string>
#include <utility>

namespace nnd::integration {

// A rule ("env.lint" for the environment) and the cause that it tells.
using Trouble = std::pair<std::string, std::string>;

// Of "rule CAUSE ...".
inline Trouble trouble(const std::string& verdict) {
  const auto first = verdict.find(' ');
  const auto second = verdict.find(' ', first + 1);
  return {verdict.substr(0, first), verdict.substr(first + 1, second - first - 1)};
}

std::set<Trouble> node_troubles();
std::set<Trouble> pair_troubles();

}  // namespace nnd::integration
