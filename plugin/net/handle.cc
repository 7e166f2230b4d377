#include "net/handle.h"

#include <algorithm>
#include <cstring>

#include "context/gid.h"

namespace nnd::net {

namespace trailer = nccl_net_diag::trailer;

namespace {

// Values that a struct's last byte seldom has: neither a small number, nor -1, nor the top of an
// address.
constexpr trailer::Bytes make_pattern() {
  trailer::Bytes p{};
  for (std::size_t i = 0; i < p.size(); ++i)
    p[i] = static_cast<std::uint8_t>(0xA3 ^ (i * 7 & 0x3F));
  return p;
}
constexpr trailer::Bytes kPattern = make_pattern();

}  // namespace

HandleTail::HandleTail(void* handle) noexcept
    : tail_(static_cast<std::uint8_t*>(handle) + trailer::kOffset) {
  std::memcpy(before_.data(), tail_, trailer::kSize);
  std::memcpy(tail_, kPattern.data(), trailer::kSize);
}

bool HandleTail::seal(const trailer::Trailer& t) noexcept {
  if (std::memcmp(tail_, kPattern.data(), trailer::kSize) != 0) {
    restore();
    return false;
  }
  const trailer::Bytes bytes = trailer::encode(t);
  std::memcpy(tail_, bytes.data(), trailer::kSize);
  return true;
}

void HandleTail::restore() noexcept {
  // A transport writes a struct from the front: all up to the last changed byte is its own.
  std::size_t written = trailer::kSize;
  while (written > 0 && tail_[written - 1] == kPattern[written - 1]) --written;
  std::copy(before_.begin() + static_cast<std::ptrdiff_t>(written), before_.end(), tail_ + written);
}

void read_listener(const void* handle, state::ConnectionStart& start) noexcept {
  context::read_socket_address(handle, start.listener, start.listener_port);
}

std::optional<trailer::Trailer> read_trailer(const void* handle) noexcept {
  const auto* tail = static_cast<const std::uint8_t*>(handle) + trailer::kOffset;
  return trailer::decode(std::span<const std::uint8_t, trailer::kSize>(tail, trailer::kSize));
}

}  // namespace nnd::net
