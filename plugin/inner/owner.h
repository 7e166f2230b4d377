// One NCCL per process owns this plugin: calls without a context (devices, getProperties) can't
// tell two of them apart.
#pragma once

#include <optional>

#include "inner/find.h"
#include "inner/module.h"

namespace nnd::inner {

// Makes the module the owner if there is none, or if the last one was unloaded. Returns the owner
// where that is another module. Thread-safe.
std::optional<Module> claim(const Module& nccl);

// The same question without claiming.
std::optional<Module> other_owner(const Module& nccl);

// The answer to the second one.
Found second_nccl(const Module& second, const Module& first, int net_version);

}  // namespace nnd::inner
