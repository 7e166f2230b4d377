#include "inner/owner.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "context/fork_mutex.h"
#include "context/immortal.h"

namespace nnd::inner {
namespace {

struct Owner {
  context::ForkMutex mutex;
  std::optional<Module> module;
};
Owner& owner() {
  static context::Immortal<Owner> instance;
  return *instance;
}

bool still_loaded(const Module& module) {
  const std::vector<Module> now = all_modules();
  return std::any_of(now.begin(), now.end(),
                     [&](const Module& m) { return same_module(m, module); });
}

std::optional<Module> ask(const Module& nccl, bool take) {
  Owner& o = owner();
  const std::lock_guard lock(o.mutex);
  if (o.module && same_module(*o.module, nccl)) return std::nullopt;
  if (o.module && still_loaded(*o.module)) return o.module;
  o.module.reset();
  if (take) o.module = nccl;
  return std::nullopt;
}

}  // namespace

std::optional<Module> claim(const Module& nccl) { return ask(nccl, true); }
std::optional<Module> other_owner(const Module& nccl) { return ask(nccl, false); }

Found second_nccl(const Module& second, const Module& first, int net_version) {
  Found found;
  found.net_version = net_version;
  found.module = second.path;
  found.nccl_version = nccl_version(second);
  found.trouble = Trouble::kSecondNccl;
  found.why = "this is the second NCCL in the process (" + second.path +
              "), and only the first is wrapped (" + first.path + ")";
  return found;
}

}  // namespace nnd::inner
