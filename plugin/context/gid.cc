#include "context/gid.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace nnd::context {

namespace {

constexpr unsigned kGroups = 8;
constexpr Gid kMappedPrefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

// The longest run of at least two groups that are zero, the first of equals: [begin, end).
struct Run {
  unsigned begin = 0;
  unsigned end = 0;
};
Run longest_zeros(const Gid& gid) {
  Run best;
  for (unsigned i = 0; i < kGroups; ++i) {
    unsigned end = i;
    while (end < kGroups && gid[2 * end] == 0 && gid[2 * end + 1] == 0) ++end;
    if (end - i > std::max(1U, best.end - best.begin)) best = {i, end};
    i = end;
  }
  return best;
}

// An IPv6 address as inet_ntop writes it.
char* write_groups(char* out, const Gid& gid) {
  const Run zeros = longest_zeros(gid);
  for (unsigned i = 0; i < kGroups;) {
    if (i == zeros.begin && zeros.end > zeros.begin) {
      *out++ = ':';
      i = zeros.end;
      if (i == kGroups) *out++ = ':';
      continue;
    }
    if (i > 0) *out++ = ':';
    out = std::to_chars(out, out + 4, gid[2 * i] * 256U + gid[2 * i + 1], 16).ptr;
    ++i;
  }
  return out;
}

}  // namespace

bool gid_ipv4(const Gid& gid) noexcept {
  return std::memcmp(kMappedPrefix.data(), gid.data(), 12) == 0;
}

bool gid_zero(const Gid& gid) noexcept {
  static constexpr Gid kZero{};
  return std::memcmp(gid.data(), kZero.data(), kZero.size()) == 0;
}

bool gid_link_local(const Gid& gid) noexcept {
  return gid[0] == 0xfe && gid[1] == 0x80 &&
         std::all_of(gid.begin() + 2, gid.begin() + 8, [](std::uint8_t byte) { return byte == 0; });
}

// Not inet_ntop: a node may have thousands of GIDs, and that one takes 4,000 instructions for each.
std::string gid_text(const Gid& gid) {
  std::array<char, INET6_ADDRSTRLEN> buffer;
  if (!gid_ipv4(gid)) return {buffer.data(), write_groups(buffer.data(), gid)};
  std::memcpy(buffer.data(), "::ffff:", 7);
  char* end = buffer.data() + 7;
  for (unsigned i = 12; i < 16; ++i) {
    if (i > 12) *end++ = '.';
    end = std::to_chars(end, end + 3, static_cast<unsigned>(gid[i])).ptr;
  }
  return {buffer.data(), end};
}

bool read_socket_address(const void* bytes, Gid& address, std::uint16_t& port) noexcept {
  sockaddr_in ipv4;
  sockaddr_in6 ipv6;
  std::memcpy(&ipv4, bytes, sizeof ipv4);
  std::memcpy(&ipv6, bytes, sizeof ipv6);
  if (ipv4.sin_family == AF_INET) {
    address = {};
    address[10] = address[11] = 0xff;
    std::memcpy(&address[12], &ipv4.sin_addr, 4);
    port = ntohs(ipv4.sin_port);
    return true;
  }
  if (ipv6.sin6_family != AF_INET6) return false;
  std::memcpy(address.data(), &ipv6.sin6_addr, address.size());
  port = ntohs(ipv6.sin6_port);
  return true;
}

}  // namespace nnd::context
