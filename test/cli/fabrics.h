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

// So many hosts, node0 and on, with two rails.
inline std::string hosts_with_rails(int count) {
  return "\nresolve_timeout_ms = 20\n[[host]]\ncount = " + std::to_string(count) + R"(
name = "node{h}"
[[host.hca]]
count = 2
name = "mlx5_{i}"
address = "10.200.{i}.{h+1}/24"
speed_mbps = 400000
)";
}

}  // namespace nnd::cli_test
