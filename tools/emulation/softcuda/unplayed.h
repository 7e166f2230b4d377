// What was asked for and isn't played: said once each, in softcuda's log and, where
// SOFTCUDA_UNPLAYED names a file, appended to it, one line each.
#pragma once

#include <string>

namespace softcuda {

// what: a function or a kernel by its name, or words. Thread-safe.
void note_unplayed(const std::string& what);

}  // namespace softcuda
