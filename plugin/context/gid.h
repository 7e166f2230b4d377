// A GID's bytes, as the rooms that know no verbs have them, and its text.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace nnd::context {

using Gid = std::array<std::uint8_t, 16>;  // network order; all zero: not known

bool gid_zero(const Gid& gid) noexcept;
bool gid_ipv4(const Gid& gid) noexcept;        // ::ffff:a.b.c.d
bool gid_link_local(const Gid& gid) noexcept;  // fe80::/64
// As inet_ntop prints it: "::ffff:10.0.1.2", "fe80::1".
std::string gid_text(const Gid& gid);

// What a sockaddr_in or sockaddr_in6 says, in sizeof(sockaddr_in6) readable bytes of any alignment;
// IPv4 as ::ffff:a.b.c.d, the port in host order. False: it is neither, and nothing is changed.
bool read_socket_address(const void* bytes, Gid& address, std::uint16_t& port) noexcept;

}  // namespace nnd::context
