// IP prefixes and GIDs. A GID is 16 bytes in network order; an IPv4 address is held as its mapped
// form
// (::ffff:a.b.c.d), which is also what a RoCE GID table holds.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace softverbs {

using Gid = std::array<std::uint8_t, 16>;

inline constexpr Gid kZeroGid{};

bool is_ipv4(const Gid& gid);  // ::ffff:a.b.c.d
bool is_link_local(const Gid& gid);
std::string gid_text(const Gid& gid);      // as sysfs writes it: eight groups of four digits
std::string address_text(const Gid& gid);  // as a person writes it: 10.0.0.1 or fd00::1

// An address with the length of its network, or a network.
struct Prefix {
  Gid address{};
  int bits = 128;  // of the 128; an IPv4 /24 is 120

  bool contains(const Gid& other) const;
  bool ipv4() const { return is_ipv4(address); }
  int length() const { return ipv4() ? bits - 96 : bits; }
  std::string text() const;  // 10.0.0.1/24
};

std::optional<Gid> parse_address(std::string_view text);    // IPv4 or IPv6
std::optional<Prefix> parse_prefix(std::string_view text);  // with or without /length

}  // namespace softverbs
