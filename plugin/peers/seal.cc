#include "peers/seal.h"

#include <algorithm>
#include <string_view>

#ifndef NND_WITHOUT_SODIUM
#include <sodium.h>
#endif

namespace nnd::peers {

namespace {

constexpr std::string_view kMark = "NNDP";
constexpr std::size_t kNonce = 16, kBox = 40;

}  // namespace

std::optional<Outside> look_outside(std::span<const std::uint8_t> datagram) noexcept {
  if (datagram.size() <= kSealed ||
      !std::equal(kMark.begin(), kMark.end(), datagram.begin(),
                  [](char a, std::uint8_t b) { return static_cast<std::uint8_t>(a) == b; }))
    return std::nullopt;
  if (datagram[4] != 1 && datagram[4] != 2) return std::nullopt;
  Outside out;
  out.kind = static_cast<KeyKind>(datagram[4]);
  for (std::size_t i = 0; i < 8; ++i) out.from |= std::uint64_t{datagram[8 + i]} << (8 * i);
  return out;
}

#ifdef NND_WITHOUT_SODIUM  // a cross build: there is no channel

bool seals_work() noexcept { return false; }
Secret new_secret() noexcept { return {}; }
Key new_key() noexcept { return {}; }
Key key_of_handle(const Secret&, std::uint64_t) noexcept { return {}; }
std::vector<std::uint8_t> seal(const Outside&, const Key&, std::span<const std::uint8_t>) {
  return {};
}
std::optional<std::vector<std::uint8_t>> open(std::span<const std::uint8_t>, const Key&) {
  return std::nullopt;
}

#else

static_assert(kBox - kNonce == crypto_aead_xchacha20poly1305_ietf_NPUBBYTES);
static_assert(kSealed == kBox + crypto_aead_xchacha20poly1305_ietf_ABYTES);
static_assert(sizeof(Key) == crypto_aead_xchacha20poly1305_ietf_KEYBYTES);

bool seals_work() noexcept { return sodium_init() >= 0; }

Secret new_secret() noexcept {
  Secret out;
  randombytes_buf(out.data(), out.size());
  return out;
}

Key new_key() noexcept {
  Key out;
  randombytes_buf(out.data(), out.size());
  return out;
}

Key key_of_handle(const Secret& secret, std::uint64_t proc) noexcept {
  std::array<std::uint8_t, 16> in{};
  std::copy(secret.begin(), secret.end(), in.begin());
  for (std::size_t i = 0; i < 8; ++i) in[8 + i] = static_cast<std::uint8_t>(proc >> (8 * i));
  constexpr std::string_view kPurpose = "nccl-net-diag peers 1";
  Key out;
  crypto_generichash(out.data(), out.size(), in.data(), in.size(),
                     reinterpret_cast<const unsigned char*>(kPurpose.data()), kPurpose.size());
  return out;
}

std::vector<std::uint8_t> seal(const Outside& outside, const Key& key,
                               std::span<const std::uint8_t> message) {
  std::vector<std::uint8_t> out(kSealed + message.size());
  std::copy(kMark.begin(), kMark.end(), out.begin());
  out[4] = static_cast<std::uint8_t>(outside.kind);
  for (std::size_t i = 0; i < 8; ++i)
    out[8 + i] = static_cast<std::uint8_t>(outside.from >> (8 * i));
  randombytes_buf(out.data() + kNonce, kBox - kNonce);
  crypto_aead_xchacha20poly1305_ietf_encrypt(out.data() + kBox, nullptr, message.data(),
                                             message.size(), out.data(), kNonce, nullptr,
                                             out.data() + kNonce, key.data());
  return out;
}

std::optional<std::vector<std::uint8_t>> open(std::span<const std::uint8_t> datagram,
                                              const Key& key) {
  if (datagram.size() <= kSealed) return std::nullopt;
  std::vector<std::uint8_t> out(datagram.size() - kSealed);
  if (crypto_aead_xchacha20poly1305_ietf_decrypt(
          out.data(), nullptr, nullptr, datagram.data() + kBox, datagram.size() - kBox,
          datagram.data(), kNonce, datagram.data() + kNonce, key.data()) != 0)
    return std::nullopt;
  return out;
}

#endif

}  // namespace nnd::peers
