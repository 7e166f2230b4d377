// What a sanitizer's runtime can't see in NCCL, which comes as it is, not instrumented.
#pragma once

#include <string>

namespace softcuda {

// To be called for a loaded libnccl before it is initialised. Empty, or why that could not be done;
// does nothing in a build without sanitizers.
std::string tell_sanitizer_of(void* handle);

}  // namespace softcuda
