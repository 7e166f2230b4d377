// Machine code: a jump put over a function, and thunks for functions that softcuda doesn't have.
// x86_64 and aarch64.
#pragma once

#include <cstddef>
#include <string>

namespace softcuda {

// Bytes that the jump takes; a shorter function can't be replaced.
#if defined(__aarch64__)
inline constexpr std::size_t kJumpBytes = 16;
#else
inline constexpr std::size_t kJumpBytes = 14;
#endif

// Whether a function does nothing but return a number, as what a runtime no longer has does
// (cudaStreamGetCaptureInfo_v2 of CUDA 13: cudaErrorStubLibrary). NCCL doesn't call such a one.
bool only_returns_a_number(const void* at, std::size_t bytes);

// Empty, or why the memory couldn't be written.
std::string put_jump(void* at, const void* target);

// A function that calls handler(name) and returns what that returns. name must live on; null when
// there is no memory.
void* make_thunk(const char* name, int (*handler)(const char* name));

}  // namespace softcuda
