// A counter that one thread at a time writes and any thread reads.
#pragma once

#include <atomic>
#include <cstdint>

namespace nnd::state {

using Counter = std::atomic<std::uint64_t>;

// No lock prefix. On x86 one instruction, where a compiler makes three of an atomic's load,
// addition and store.
inline void add(Counter& counter, std::uint64_t n) noexcept {
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
  asm("addq %1, %0" : "+m"(reinterpret_cast<std::uint64_t&>(counter)) : "re"(n) : "cc");
#else
  counter.store(counter.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
#endif
}

}  // namespace nnd::state
