// A net or profiler plugin by NCCL's own naming rules.
#pragma once

#include <string>

#include "inner/find.h"

namespace nnd::inner {

inline constexpr int kOldestNet = 4;  // the oldest version that a release of ours still takes

struct Plugin {
  void* handle = nullptr;   // never closed; null: see why
  const char* tables = "";  // how its tables are named, but for the version
  std::string file;         // that it was loaded from
  std::string why;          // one sentence, where handle is null
  bool self = false;        // the name leads to this very plugin

  // An exported symbol, or null. Thread-safe.
  void* symbol(const char* name) const;
  // Its table of a version of the API, or null.
  const void* table(int version) const;
  // The highest of its versions from `oldest` to `newest`, 0: none.
  int newest_version(int oldest, int newest) const;
  std::string versions() const;  // "v8, v6", "none"
};

// Loads it at the first call for this name, for good. Not for the data path. Thread-safe.
const Plugin& net_plugin(const std::string& name);
const Plugin& profiler_plugin(const std::string& name);

// Whether a profiler's name leads to this very library, which is loaded. Loads nothing.
bool is_own_name(const std::string& profiler);

}  // namespace nnd::inner
