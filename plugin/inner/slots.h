// The import slots (GOT) of one loaded module: finding and redirecting them.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "inner/module.h"

namespace nnd::inner {

// A function that a module imports.
struct Import {
  std::string_view symbol;
  std::string_view node;  // version it was linked against, empty where it has none
};

struct SlotResult {
  std::size_t slots = 0;  // that now hold the replacement
  std::string error;      // why a slot could not be written
};

// Asks `replace` for every imported function of the module, and writes what it returns (null:
// leave) into that function's JUMP_SLOT and GLOB_DAT slots, and into the module's constants that
// hold its address (R_*_64). Pages that the loader made read-only (RELRO, -z now) are read-only
// again afterwards. The module must stay loaded meanwhile. Safe while other threads call through
// the slots.
SlotResult redirect(const Module& module, const std::function<void*(const Import&)>& replace);

}  // namespace nnd::inner
