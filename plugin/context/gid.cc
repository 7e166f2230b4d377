#include "context/gid.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

namespace nnd::context {

namespace {

constexpr Gid kMappedPrefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

// The longest run of at least two groups that are zero, the first of equals: [begin, end).
struct Run {
  unsigned begin = 0;
  unsigned end = 0;
};
Run longest_zeros(const Gid& gid, unsigned count) {
  Run best;
  for (unsigned i = 0; i < count; ++i) {
    unsigned end = i;
    while (end < count && gid[2 * end] == 0 && gid[2 * end + 1] == 0) ++end;
    if (end - i > std::max(1U, best.end - best.begin)) best = {i, end};
    i = end;
  }
  return best;
}

// The first `count` groups of an IPv6 address as inet_ntop writes them.
char* write_groups(char* out, const Gid& gid, unsigned count) {
  const Run zeros = longest_zeros(gid, count);
  for (unsigned i = 0; i < count;) {
    if (i == zeros.begin && zeros.end > zeros.begin) {
      *out++ = ':';
      i = zeros.end;
      if (i == 8) *out++ = ':';
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
  return std::equal(kMappedPrefix.begin(), kMappedPrefix.begin() + 12, gid.begin());
}

bool gid_zero(const Gid& gid) noexcept {
  return std::all_of(gid.begin(), gid.end(), [](std::uint8_t byte) { return byte == 0; });
}

bool gid_link_local(const Gid& gid) noexcept {
  return gid[0] == 0xfe && gid[1] == 0x80 &&
         std::all_of(gid.begin() + 2, gid.begin() + 8, [](std::uint8_t byte) { return byte == 0; });
}

// Not inet_ntop: a node may have thousands of GIDs, and that one takes 4,000 instructions for each.
std::string gid_text(const Gid& gid) {
  std::array<char, INET6_ADDRSTRLEN> buffer;
  const bool mapped = gid_ipv4(gid);
  char* end = write_groups(buffer.data(), gid, mapped ? 6 : 8);
  if (mapped) {
    *end++ = ':';
    for (unsigned i = 12; i < 16; ++i) {
      if (i > 12) *end++ = '.';
      end = std::to_chars(end, end + 3, static_cast<unsigned>(gid[i])).ptr;
    }
  }
  return {buffer.data(), end};
}

}  // namespace nnd::context
