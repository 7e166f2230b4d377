// Emulated fabrics that several of these tests use.
#pragma once

#include <string>

namespace nnd::cli_test {

// Two hosts, node0 and node1, with one HCA each; in address "{h}" is 0 and 1.
inline std::string two_hosts(const std::string& address) {
  return R"(
resolve_timeout_ms = 20
[[host]]
count = 2
name = "node{h}"
[[host.hca]]
address = ")" +
         address + "\"\n";
}

inline const std::string kTogether = two_hosts("10.200.0.{h+1}/24");
inline const std::string kApart = two_hosts("10.{h}.0.1/24");  // in networks that nothing joins

}  // namespace nnd::cli_test
