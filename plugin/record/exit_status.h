// With what status a process ends that ends by itself: by exit(), or by returning from main().
#pragma once

#include <optional>

namespace nnd::record {

// Asks to be told. Every call but the first does nothing.
void watch_exit() noexcept;
// Unset: it doesn't end, or not in that way.
std::optional<int> exit_status() noexcept;

// Whether a handler of the program's takes SIGTERM: then it may end by itself because it was asked.
bool catches_sigterm() noexcept;

}  // namespace nnd::record
