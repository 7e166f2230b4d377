// Short names of the memory orders.
#pragma once

#include <atomic>

namespace nnd::context {

inline constexpr auto kRelaxed = std::memory_order_relaxed;
inline constexpr auto kAcquire = std::memory_order_acquire;
inline constexpr auto kRelease = std::memory_order_release;  // of what a reader may meet half done

}  // namespace nnd::context
