// Times and bounds that the parts of the engine share.
#pragma once

#include <algorithm>
#include <cstdint>

namespace nnd::peers {

inline constexpr std::uint64_t kHeardMs = 2500;  // what was said holds for so long
inline constexpr unsigned kRefusals = 2;
inline constexpr unsigned kTries = 4;
inline constexpr std::uint64_t kProbeEveryMs = 1000;
inline constexpr std::uint16_t kFarthest = 20000;  // hops

inline std::uint32_t since(std::uint64_t then_ms, std::uint64_t now_ms) {
  const std::uint64_t ms = now_ms > then_ms ? now_ms - then_ms : 0;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(ms, ~std::uint32_t{0}));
}

inline std::uint32_t sum(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(std::uint64_t{a} + b, ~std::uint32_t{0}));
}

}  // namespace nnd::peers
