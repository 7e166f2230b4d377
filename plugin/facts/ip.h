// IP addresses, prefixes and GIDs as addresses. Plain values, no I/O.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "context/gid.h"

namespace nnd::facts {

enum class Family : std::uint8_t { kNone, kIpv4, kIpv6 };

struct IpAddress {
  Family family = Family::kNone;
  std::array<std::uint8_t, 16> bytes{};  // IPv4 in the first four

  unsigned bits() const { return family == Family::kIpv4 ? 32 : 128; }
  bool link_local() const;  // 169.254.0.0/16 or fe80::/10
  std::string text() const;
  auto operator<=>(const IpAddress&) const = default;
  // Two words, and no call: each GID is looked for among all addresses of a node.
  bool operator==(const IpAddress& other) const {
    return family == other.family && std::memcmp(bytes.data(), other.bytes.data(), 16) == 0;
  }
};

struct IpPrefix {
  IpAddress address;  // host bits may be set: an interface's own address
  unsigned length = 0;

  bool contains(const IpAddress& other) const;
  IpPrefix network() const;          // without host bits
  std::string text() const;          // "10.0.1.2/24"
  std::string network_text() const;  // "10.0.1.0/24"
  auto operator<=>(const IpPrefix&) const = default;
};

std::optional<IpAddress> parse_address(std::string_view text);
std::optional<IpPrefix> parse_prefix(std::string_view text);  // needs "/length"

// An IPv4-mapped GID (::ffff:a.b.c.d) is an IPv4 address, every other one IPv6: NCCL's reading
// (2.21 to 2.30.7, net_ib connect) and the kernel's.
IpAddress gid_address(const context::Gid& gid);

}  // namespace nnd::facts
