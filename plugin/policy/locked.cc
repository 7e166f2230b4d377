#include "policy/locked.h"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>
#include <utility>

namespace nnd::policy {

namespace {

std::string read_text(const char* path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

Owner owner_of(unsigned uid) {
  // A kernel without user namespaces has no such file.
  const std::string map = read_text("/proc/self/uid_map");
  constexpr unsigned long kUsual = 65534;
  const std::string overflow = read_text("/proc/sys/kernel/overflowuid");
  return policy::owner_of(uid, map.empty() ? "0 0 4294967295" : map,
                          static_cast<unsigned>(overflow.empty() ? kUsual : std::stoul(overflow)));
}

// Who can write a folder can replace what lies in it.
Lock lock_of(const std::string& file, const std::string& standing) {
  if (file != standing) return Lock::kBroken;
  Lock out = Lock::kHolds;
  for (const std::string& path : {file, file.substr(0, file.rfind('/'))}) {
    struct stat about {};
    if (stat(path.c_str(), &about) != 0 || (about.st_mode & (S_IWGRP | S_IWOTH)) != 0)
      return Lock::kBroken;
    const Owner owner = owner_of(about.st_uid);
    if (owner == Owner::kOther) return Lock::kBroken;
    if (owner == Owner::kUnmapped) out = Lock::kUnproved;
  }
  return out;
}

bool there(const std::string& file) { return access(file.c_str(), F_OK) == 0; }

Loaded load(const std::string& file, const std::string& standing) {
  Loaded loaded = load_policy_file(file);
  if (loaded.policy.locked) loaded.lock = lock_of(file, standing);
  if (loaded.lock == Lock::kBroken)
    loaded.errors.push_back({file,
                             0,
                             "locked",
                             "holds in " + (standing.empty() ? kStandingFile : standing) +
                                 " alone, where root owns the file and its folder and nobody else "
                                 "can write them",
                             {}});
  return loaded;
}

// What would loosen the standing policy goes. Returns the variables' names.
std::vector<std::string> tighten(config::Settings& settings, const Policy& policy,
                                 const std::string& standing) {
  std::vector<std::string> ignored;
  const config::Settings usual;
  const auto ignore = [&ignored](const char* variable, auto& value, const auto& instead) {
    ignored.emplace_back(variable);
    value = instead;
  };
  if (!settings.policy.empty() && settings.policy != standing)
    ignore("NCCL_NET_DIAG_POLICY", settings.policy, standing);
  if (settings.mode_given && settings.mode < policy.mode)
    ignore("NCCL_NET_DIAG_MODE", settings.mode, policy.mode);
  if (settings.disable) ignore("NCCL_NET_DIAG_DISABLE", settings.disable, false);
  // What facts and verbs come from.
  if (settings.sysfs != usual.sysfs) ignore("NCCL_NET_DIAG_SYSFS", settings.sysfs, usual.sysfs);
  if (!settings.verbs_lib.empty())
    ignore("NCCL_NET_DIAG_VERBS_LIB", settings.verbs_lib, std::string());
  return ignored;
}

}  // namespace

Owner owner_of(unsigned uid, std::string_view uid_map, unsigned overflow) {
  std::istringstream rows{std::string(uid_map)};
  unsigned long inside = 0, outside = 0, count = 0;
  bool maps_root = false, root_is_root = false;
  while (rows >> inside >> outside >> count) {
    maps_root = maps_root || outside == 0;
    root_is_root = root_is_root || (inside == 0 && outside == 0);
  }
  if (uid == 0) return root_is_root ? Owner::kRoot : Owner::kOther;
  return uid == overflow && !maps_root ? Owner::kUnmapped : Owner::kOther;
}

InForce in_force(config::Settings settings, const std::string& standing) {
  InForce out;
  if (there(standing)) {
    out.loaded = load(standing, standing);
    if (out.loaded.policy.locked && out.loaded.lock != Lock::kBroken)
      out.ignored = tighten(settings, out.loaded.policy, standing);
  }
  if (!settings.policy.empty() && settings.policy != standing)
    out.loaded = settings.disable ? Loaded{} : load(settings.policy, standing);
  out.settings = std::move(settings);
  return out;
}

}  // namespace nnd::policy
