// Every key that a policy file may have, in one table. Internal to this room.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "policy/policy.h"

namespace nnd::policy {

// A value as the file has it.
using Value = std::variant<bool, long, double, std::string, std::vector<std::string>>;

struct Applied {
  std::function<void(Policy&)> change;  // empty: the value is wrong
  std::string problem;
  std::string nearest;
};

struct Key {
  std::string_view name;  // "hca.bond"
  std::string_view values;
  std::string_view meaning;
  bool per_device;  // may stand in an override with `device`
  Applied (*read)(const Value& value);
};

const std::vector<Key>& keys();
const Key* find_key(std::string_view name);

}  // namespace nnd::policy
