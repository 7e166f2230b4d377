#include "policy/policy.h"

#include <fnmatch.h>

#include <algorithm>

namespace nnd::policy {

bool glob_match(std::string_view pattern, std::string_view name) {
  return fnmatch(std::string(pattern).c_str(), std::string(name).c_str(), 0) == 0;
}

Policy Policy::for_host(std::string_view host) const {
  Policy out = *this;
  for (const Override& rule : overrides)
    if (rule.device.empty() && (rule.host.empty() || glob_match(rule.host, host)))
      for (const auto& change : rule.changes) change(out);
  return out;
}

Policy Policy::for_device(std::string_view host, std::string_view device) const {
  Policy out = *this;
  for (const Override& rule : overrides)
    if (!rule.device.empty() && glob_match(rule.device, device) &&
        (rule.host.empty() || glob_match(rule.host, host)))
      for (const auto& change : rule.changes) change(out);
  return out;
}

bool PeersRules::allow(const facts::IpAddress& address) const {
  return !subnets || std::any_of(subnets->begin(), subnets->end(),
                                 [&](const facts::IpPrefix& one) { return one.contains(address); });
}

Decision decide(Action action, Mode mode) {
  if (action == Action::kAllow || mode == Mode::kObserve) return Decision::kInfo;
  return mode == Mode::kEnforce && action == Action::kDeny ? Decision::kRefuse : Decision::kWarn;
}

const char* action_text(Action action) {
  switch (action) {
    case Action::kAllow:
      return "allow";
    case Action::kWarn:
      return "warn";
    case Action::kDeny:
      break;
  }
  return "deny";
}

const char* mode_text(Mode mode) {
  switch (mode) {
    case Mode::kObserve:
      return "observe";
    case Mode::kWarn:
      return "warn";
    case Mode::kEnforce:
      break;
  }
  return "enforce";
}

}  // namespace nnd::policy
