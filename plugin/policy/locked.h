// Which policy a process has, and an administrator's that its environment can only tighten.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/settings.h"
#include "policy/load.h"

namespace nnd::policy {

inline constexpr const char* kStandingFile = "/etc/nccl-net-diag/policy.toml";

// Whose a file is, as the process's user namespace shows it. uid_map: the text of
// /proc/self/uid_map; overflow: the id that stands for users whom the namespace doesn't map. A pure
// function.
enum class Owner : std::uint8_t { kRoot, kUnmapped, kOther };
Owner owner_of(unsigned uid, std::string_view uid_map, unsigned overflow);

struct InForce {
  config::Settings settings;
  std::vector<std::string> ignored;  // the variables that a lock has taken out of the settings
  Loaded loaded;
};

// The file that the settings name, else the standing one where it is there, else the built-in
// rules. Where the standing file says `locked = true`, and nobody but root can change it, what
// would loosen it is taken out of the settings. A lock that can't hold is a mistake of the file.
// Each file is read once. standing: empty: none counts.
InForce in_force(config::Settings settings, const std::string& standing = kStandingFile);

}  // namespace nnd::policy
