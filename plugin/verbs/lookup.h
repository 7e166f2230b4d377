// What the redirected dlvsym and dlsym slots of an NCCL image point to.
#pragma once

#include <string>

namespace nnd::verbs {

// The addresses to write into the slots.
void* lookup_dlvsym() noexcept;
void* lookup_dlsym() noexcept;

// All of NCCL's look-ups of ibv_* go to this library instead (NCCL_NET_DIAG_VERBS_LIB). Returns
// why not, or an empty string. To be called before any slot is redirected.
std::string forward_to(const std::string& library);

// Whether NCCL has looked up a wrapped verb, which proves that the redirection took.
bool lookup_seen() noexcept;

// Whether a library was met that could not be wrapped because there were too many.
bool lookup_overflow() noexcept;

}  // namespace nnd::verbs
