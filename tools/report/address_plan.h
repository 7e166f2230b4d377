// What the addresses of a fabric tell of its shape: subnets that lie next to each other are
// mostly one plane, one leaf switch, one pod.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace nnd::report {

// A prefix that several subnets of the fabric have in common, and others haven't.
struct Plane {
  std::string prefix;       // "10.65.0.0/22"
  std::size_t subnets = 0;  // in it
  std::size_t all = 0;      // subnets of the fabric
};

class AddressPlan {
 public:
  // "10.65.0.0/24", "fd00:1::/64"; other texts have no place in it.
  explicit AddressPlan(const std::set<std::string>& subnets);

  // Those that it is in, the smallest first.
  const std::vector<Plane>& planes_of(const std::string& subnet) const;

 private:
  std::map<std::string, std::vector<Plane>> planes_;
};

// Whether there is room for two addresses only: the ends of one cable.
bool is_cable(const std::string& subnet);

// The address at the other end of that cable.
std::optional<std::string> other_end(const std::string& gid, const std::string& subnet);

}  // namespace nnd::report
