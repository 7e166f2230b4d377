#include "policy/locked.h"

#include <sys/stat.h>
#include <unistd.h>

#include <string_view>

namespace nnd::policy {

namespace {

// Root's, and nobody else can write it.
bool is_roots(const std::string& path) {
  struct stat about {};
  return stat(path.c_str(), &about) == 0 && about.st_uid == 0 &&
         (about.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// Who can write a folder can replace what lies in it.
bool holds(const std::string& file, const std::string& standing) {
  return file == standing && is_roots(file) && is_roots(file.substr(0, file.rfind('/')));
}

bool there(const std::string& file) { return access(file.c_str(), F_OK) == 0; }

}  // namespace

std::vector<std::string> tighten(config::Settings& settings, const std::string& standing) {
  std::vector<std::string> ignored;
  if (!there(standing)) return ignored;
  const Policy policy = load_policy_file(standing).policy;
  if (!policy.locked || !holds(standing, standing)) return ignored;
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

Loaded load_policy(const config::Settings& settings, const std::string& standing) {
  const std::string& file = settings.policy.empty() ? standing : settings.policy;
  if (settings.policy.empty() && !there(standing)) return {};
  Loaded loaded = load_policy_file(file);
  if (loaded.policy.locked && !holds(file, standing))
    loaded.errors.push_back({file,
                             0,
                             "locked",
                             "holds in " + standing +
                                 " alone, where root owns the file and its "
                                 "folder and nobody else can write them",
                             {}});
  return loaded;
}

}  // namespace nnd::policy
