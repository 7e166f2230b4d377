// Reading a policy file (TOML). Every error names file, line and key, and the nearest right word.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "policy/policy.h"

namespace nnd::policy {

struct LoadError {
  std::string file;
  unsigned line = 0;
  std::string key;      // "hca.bond"; empty: the file as a whole
  std::string problem;  // one clause
  std::string nearest;  // the known word that is closest, or empty

  std::string text() const;  // "policy.toml:3: hca.bnod: unknown key; did you mean hca.bond?"
};

// Whether the file's `locked = true` is in force (locked.h).
enum class Lock : std::uint8_t {
  kNone,      // not asked for
  kHolds,     // root's, and nobody else can write it
  kUnproved,  // in force; in a user namespace that doesn't map root, the file is an unmapped user's
  kBroken,    // asked for, and not in force
};

struct Loaded {
  Policy policy;  // where there are errors the built-in rules, in the mode that the file asks for
  std::vector<LoadError> errors;
  Lock lock = Lock::kNone;  // of load_policy() alone
};

Loaded load_policy_text(std::string_view text, const std::string& file);
Loaded load_policy_file(const std::string& file);

// One row per key. Tests compare it with docs/policy.md and with the keys that are read.
struct KeyDoc {
  std::string_view key;  // "hca.bond"
  std::string_view values;
  std::string_view meaning;
};
std::vector<KeyDoc> key_docs();

}  // namespace nnd::policy
