// What a listener with the shim adds to the 128-byte handle that NCCL carries to the peer: bytes
// 96-127, where the inner transport leaves them alone. NCCL's built-in IB writes the first 64 bytes
// up to 2.30.3 and the first 96 from 2.30.7 (struct ncclIbHandle). The trailer only informs.
//
//   96  magic     1 byte, 0xD9
//   97  version   low 4 bits; then 2 bits link layer and 2 bits RoCE version of the listener's port
//                 (1 InfiniBand, 2 Ethernet; 1 v1, 2 v2; 0 where it isn't known)
//   98  checksum  2 bytes, over the other 30
//  100  process   8 bytes, the listener's random identity (event field "proc"), never 0
//
// Version 1:
//  108  listen    4 bytes, number of the listener within that process, never 0
//  112  gid       16 bytes in network order, all zero where it isn't known
//
// Versions 2 and 3, of a process that others can ask (NCCL_NET_DIAG_PEERS):
//  108  listen    2 bytes
//  110  port      2 bytes, of UDP, at the address that the handle begins with; never 0
//  112  secret    8 bytes, of which the key is made that others write to it with
//  120  gid       8 bytes: of version 2 four of IPv4 (::ffff:a.b.c.d) and four of 0, of version 3
//                 the lower half of fe80::/64; all zero where it isn't known
//
// A GID of another kind leaves no room: the listeners of such a process take turns, odd ones tell
// the GID and even ones the port. A reader that knows version 1 only takes the others for no
// trailer.
//
// Integers are little-endian. Pure functions; no bytes are trusted.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>

namespace nccl_net_diag::trailer {

inline constexpr std::size_t kHandleSize = 128;
inline constexpr std::size_t kOffset = 96;
inline constexpr std::size_t kSize = 32;
inline constexpr std::uint8_t kMagic = 0xD9;
inline constexpr std::uint8_t kPlain = 1, kWithIpv4 = 2, kWithLinkLocal = 3;
inline constexpr std::uint8_t kVersion = 3;  // the newest

using Bytes = std::array<std::uint8_t, kSize>;

struct Trailer {
  std::uint64_t proc = 0;
  std::uint32_t listen = 0;
  std::array<std::uint8_t, 16> gid{};
  std::uint8_t link_layer = 0;  // as enum ibv link layers
  std::uint8_t roce = 0;        // the version that goes with the GID
  std::uint16_t port = 0;       // 0: nobody can ask it, and there is no secret
  std::array<std::uint8_t, 8> secret{};

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

constexpr bool starts_with(const std::array<std::uint8_t, 16>& gid,
                           std::initializer_list<std::uint8_t> bytes) {
  return std::equal(bytes.begin(), bytes.end(), gid.begin());
}
constexpr bool is_zero(const std::array<std::uint8_t, 16>& gid) {
  return std::all_of(gid.begin(), gid.end(), [](std::uint8_t byte) { return byte == 0; });
}
constexpr bool is_ipv4(const std::array<std::uint8_t, 16>& gid) {
  return starts_with(gid, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff});
}
constexpr bool is_link_local(const std::array<std::uint8_t, 16>& gid) {
  return starts_with(gid, {0xfe, 0x80, 0, 0, 0, 0, 0, 0});
}

// As far as there is room for all of it, or it is this listener's turn.
constexpr std::uint8_t version_of(const Trailer& t) {
  if (t.port == 0 || t.listen > 0xffff) return kPlain;
  if (is_zero(t.gid) || is_ipv4(t.gid)) return kWithIpv4;
  if (is_link_local(t.gid)) return kWithLinkLocal;
  return t.listen % 2 != 0 ? kPlain : kWithIpv4;
}

}  // namespace detail

constexpr Bytes encode(const Trailer& t) {
  Bytes out{};
  const std::uint8_t version = detail::version_of(t);
  out[0] = kMagic;
  out[1] = static_cast<std::uint8_t>(version | (t.link_layer & 3u) << 4 | (t.roce & 3u) << 6);
  detail::put(out, 4, t.proc, 8);
  detail::put(out, 12, t.listen, version == kPlain ? 4 : 2);
  if (version == kPlain) {
    std::copy(t.gid.begin(), t.gid.end(), out.begin() + 16);
  } else {
    detail::put(out, 14, t.port, 2);
    std::copy(t.secret.begin(), t.secret.end(), out.begin() + 16);
    if (version == kWithLinkLocal)
      std::copy(t.gid.begin() + 8, t.gid.end(), out.begin() + 24);
    else if (detail::is_ipv4(t.gid))
      std::copy(t.gid.begin() + 12, t.gid.end(), out.begin() + 24);
  }
  detail::put(out, 2, detail::checksum(out), 2);
  return out;
}

// Nothing for bytes that are no trailer of a known version.
constexpr std::optional<Trailer> decode(std::span<const std::uint8_t, kSize> in) {
  const std::uint8_t version = in[1] & 15u;
  if (in[0] != kMagic || version < kPlain || version > kVersion) return std::nullopt;
  if (detail::get(in, 2, 2) != detail::checksum(in)) return std::nullopt;
  Trailer t;
  t.proc = detail::get(in, 4, 8);
  t.listen = static_cast<std::uint32_t>(detail::get(in, 12, version == kPlain ? 4 : 2));
  t.link_layer = in[1] >> 4 & 3u;
  t.roce = in[1] >> 6;
  if (t.proc == 0 || t.listen == 0 || t.link_layer == 3 || t.roce == 3) return std::nullopt;
  if (version == kPlain) {
    std::copy(in.begin() + 16, in.end(), t.gid.begin());
    return t;
  }
  t.port = static_cast<std::uint16_t>(detail::get(in, 14, 2));
  std::copy(in.begin() + 16, in.begin() + 24, t.secret.begin());
  if (version == kWithLinkLocal) {
    t.gid[0] = 0xfe;
    t.gid[1] = 0x80;
    std::copy(in.begin() + 24, in.end(), t.gid.begin() + 8);
  } else if (detail::get(in, 24, 4) != 0) {
    t.gid[10] = t.gid[11] = 0xff;
    std::copy(in.begin() + 24, in.begin() + 28, t.gid.begin() + 12);
  }
  const bool filled = version == kWithLinkLocal || detail::get(in, 28, 4) == 0;
  return t.port != 0 && filled ? std::optional(t) : std::nullopt;
}

}  // namespace nccl_net_diag::trailer
