// What is around a message on its way: only who has the key can make or read it, or change what is
// before it (libsodium's XChaCha20 and Poly1305, of which the first 16 bytes are the additional
// data). So none can be sent back, or on in another's name. Thread-safe after seals_work().
//
//   0  4 bytes, "NNDP"
//   4  kind of key: 1 the one that the receiver's handle tells of, 2 the pair's
//   5  3 bytes, 0
//   8  8 bytes, the sender's "proc", little-endian
//  16  24 bytes, random
//  40  the sealed message, 16 bytes longer than it
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace nnd::peers {

enum class KeyKind : std::uint8_t { kHandle = 1, kPair = 2 };

using Key = std::array<std::uint8_t, 32>;
using Secret = std::array<std::uint8_t, 8>;
inline constexpr std::size_t kSealed = 56;  // bytes that a seal adds

// Whether there is anything random here. To be asked once, before the others.
bool seals_work() noexcept;

Secret new_secret() noexcept;
Key new_key() noexcept;
// That with which others write to a process first: of what its handles tell.
Key key_of_handle(const Secret& secret, std::uint64_t proc) noexcept;

struct Outside {
  KeyKind kind = KeyKind::kPair;
  std::uint64_t from = 0;
};
// Nothing: it is none of ours. Nobody has proved anything yet.
std::optional<Outside> look_outside(std::span<const std::uint8_t> datagram) noexcept;

std::vector<std::uint8_t> seal(const Outside& outside, const Key& key,
                               std::span<const std::uint8_t> message);
// Nothing: it wasn't made with this key, or was changed.
std::optional<std::vector<std::uint8_t>> open(std::span<const std::uint8_t> datagram,
                                              const Key& key);

}  // namespace nnd::peers
