#include "softverbs/address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>

namespace softverbs {

namespace {
constexpr std::array<std::uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
}

bool is_ipv4(const Gid& gid) { return std::equal(kMapped.begin(), kMapped.end(), gid.begin()); }

bool is_link_local(const Gid& gid) { return gid[0] == 0xfe && (gid[1] & 0xc0) == 0x80; }

std::string gid_text(const Gid& gid) {
  char text[40];
  char* at = text;
  for (std::size_t i = 0; i < gid.size(); i += 2) {
    const auto group = static_cast<unsigned>(gid[i] << 8 | gid[i + 1]);
    at += std::snprintf(at, 6, i == 0 ? "%04x" : ":%04x", group);
  }
  return text;
}

std::string address_text(const Gid& gid) {
  char text[INET6_ADDRSTRLEN];
  if (is_ipv4(gid))
    inet_ntop(AF_INET, gid.data() + 12, text, sizeof text);
  else
    inet_ntop(AF_INET6, gid.data(), text, sizeof text);
  return text;
}

bool Prefix::contains(const Gid& other) const {
  const auto bytes = static_cast<std::size_t>(bits / 8);
  if (!std::equal(address.begin(), address.begin() + static_cast<std::ptrdiff_t>(bytes),
                  other.begin()))
    return false;
  const int rest = bits % 8;
  if (rest == 0) return true;
  const auto mask = static_cast<std::uint8_t>(0xff << (8 - rest));
  return ((address[bytes] ^ other[bytes]) & mask) == 0;
}

std::string Prefix::text() const { return address_text(address) + "/" + std::to_string(length()); }

std::optional<Gid> parse_address(std::string_view text) {
  const std::string copy(text);
  Gid gid{};
  if (inet_pton(AF_INET6, copy.c_str(), gid.data()) == 1) return gid;
  std::copy(kMapped.begin(), kMapped.end(), gid.begin());
  if (inet_pton(AF_INET, copy.c_str(), gid.data() + 12) == 1) return gid;
  return std::nullopt;
}

std::optional<Prefix> parse_prefix(std::string_view text) {
  const auto slash = text.find('/');
  const auto address = parse_address(text.substr(0, slash));
  if (!address) return std::nullopt;
  Prefix prefix{*address, 128};
  if (slash == std::string_view::npos) return prefix;
  const auto digits = text.substr(slash + 1);
  int length = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), length);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  if (length < 0 || length > (prefix.ipv4() ? 32 : 128)) return std::nullopt;
  prefix.bits = prefix.ipv4() ? length + 96 : length;
  return prefix;
}

}  // namespace softverbs
