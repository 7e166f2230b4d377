// What a listener with the shim adds to the 128-byte handle that NCCL carries to the peer: bytes
// 96-127, where the inner transport leaves them alone. NCCL's built-in IB writes the first 64 bytes
// up to 2.30.3 and the first 96 from 2.30.7 (struct ncclIbHandle). The trailer only informs.
//
//   96  magic     1 byte, 0xD9
//   97  version   low 4 bits, 1; then 2 bits link layer and 2 bits RoCE version of the listener's
//   port
//                 (1 InfiniBand, 2 Ethernet; 1 v1, 2 v2; 0 where it isn't known)
//   98  checksum  2 bytes, over the other 30
//  100  process   8 bytes, the listener's random identity (event field "proc"), never 0
//  108  listen    4 bytes, number of the listener within that process, never 0
//  112  gid       16 bytes in network order, all zero where it isn't known
//
// Integers are little-endian. Pure functions; no bytes are trusted.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace nccl_net_diag::trailer {

inline constexpr std::size_t kHandleSize = 128;
inline constexpr std::size_t kOffset = 96;
inline constexpr std::size_t kSize = 32;
inline constexpr std::uint8_t kMagic = 0xD9;
inline constexpr std::uint8_t kVersion = 1;

using Bytes = std::array<std::uint8_t, kSize>;

struct Trailer {
  std::uint64_t proc = 0;
  std::uint32_t listen = 0;
  std::array<std::uint8_t, 16> gid{};
  std::uint8_t link_layer = 0;  // as enum ibv link layers
  std::uint8_t roce = 0;        // the version that goes with the GID

  friend bool operator==(const Trailer&, const Trailer&) = default;
};

namespace detail {

constexpr void put(Bytes& out, std::size_t at, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) out[at + i] = static_cast<std::uint8_t>(value >> (8 * i));
}

constexpr std::uint64_t get(std::span<const std::uint8_t, kSize> in, std::size_t at,
                            std::size_t bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i)
    value |= static_cast<std::uint64_t>(in[at + i]) << (8 * i);
  return value;
}

// Fletcher-16 with the checksum's own two bytes taken as zero.
constexpr std::uint16_t checksum(std::span<const std::uint8_t, kSize> in) {
  std::uint32_t a = 1;
  std::uint32_t b = 0;
  for (std::size_t i = 0; i < kSize; ++i) {
    a = (a + (i == 2 || i == 3 ? 0u : in[i])) % 255;
    b = (b + a) % 255;
  }
  return static_cast<std::uint16_t>(b << 8 | a);
}

}  // namespace detail

constexpr Bytes encode(const Trailer& t) {
  Bytes out{};
  out[0] = kMagic;
  out[1] = static_cast<std::uint8_t>(kVersion | (t.link_layer & 3u) << 4 | (t.roce & 3u) << 6);
  detail::put(out, 4, t.proc, 8);
  detail::put(out, 12, t.listen, 4);
  for (std::size_t i = 0; i < t.gid.size(); ++i) out[16 + i] = t.gid[i];
  detail::put(out, 2, detail::checksum(out), 2);
  return out;
}

// Nothing for bytes that are no trailer of a known version.
constexpr std::optional<Trailer> decode(std::span<const std::uint8_t, kSize> in) {
  if (in[0] != kMagic || (in[1] & 15u) != kVersion) return std::nullopt;
  if (detail::get(in, 2, 2) != detail::checksum(in)) return std::nullopt;
  Trailer t;
  t.proc = detail::get(in, 4, 8);
  t.listen = static_cast<std::uint32_t>(detail::get(in, 12, 4));
  if (t.proc == 0 || t.listen == 0) return std::nullopt;
  for (std::size_t i = 0; i < t.gid.size(); ++i) t.gid[i] = in[16 + i];
  t.link_layer = in[1] >> 4 & 3u;
  t.roce = in[1] >> 6;
  if (t.link_layer == 3 || t.roce == 3) return std::nullopt;
  return t;
}

}  // namespace nccl_net_diag::trailer
