// What one end of an attempt logged, as far as it tells about the pair.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

namespace nnd::cli {

// {"own": the HCA's port as its QPs had it, "peer", "path_mtu", "first": the event that tells why
// it failed or null, "rules": the policy's words on the pair, "troubles": every event of the pair
// that is no info}. Events of the process's start, which every attempt has, are left out.
nlohmann::json digest_attempt(const std::vector<nlohmann::json>& events);

}  // namespace nnd::cli
