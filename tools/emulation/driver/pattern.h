// Data that tells where it was meant to go: every byte depends on the seed, the message and the
// position.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace nnd::driver {

inline constexpr std::byte kPoison{0xa5};  // what a receive buffer holds before

void fill_pattern(std::span<std::byte> data, std::uint64_t seed, std::uint64_t message);

// The first byte that differs, or nothing.
std::optional<std::size_t> find_mismatch(std::span<const std::byte> data, std::uint64_t seed,
                                         std::uint64_t message);
std::optional<std::size_t> find_not_poison(std::span<const std::byte> data);

}  // namespace nnd::driver
