// Relocation types of this machine (elf.h).
#pragma once

#include <elf.h>

#include <cstdint>

namespace nnd::inner {

#if defined(__x86_64__)
inline constexpr std::uint32_t kJumpSlot = R_X86_64_JUMP_SLOT;
inline constexpr std::uint32_t kGlobDat = R_X86_64_GLOB_DAT;
inline constexpr std::uint32_t kAbsolute = R_X86_64_64;
inline constexpr std::uint32_t kRelative = R_X86_64_RELATIVE;
#elif defined(__aarch64__)
inline constexpr std::uint32_t kJumpSlot = R_AARCH64_JUMP_SLOT;
inline constexpr std::uint32_t kGlobDat = R_AARCH64_GLOB_DAT;
inline constexpr std::uint32_t kAbsolute = R_AARCH64_ABS64;
inline constexpr std::uint32_t kRelative = R_AARCH64_RELATIVE;
#else
#error "relocation types of this machine are not known"
#endif

}  // namespace nnd::inner
