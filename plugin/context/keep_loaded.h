// A library that we hold a pointer into stays loaded: programs unload NCCL, and this library stays.
#pragma once

namespace nnd::context {

// The library, or the program, that this address lies in; null and what lies in none: nothing.
// Not for the data path.
void keep_loaded(const void* inside) noexcept;

}  // namespace nnd::context
