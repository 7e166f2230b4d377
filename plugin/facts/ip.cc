#include "facts/ip.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

namespace nnd::facts {

namespace {

bool same_bits(const std::array<std::uint8_t, 16>& a, const std::array<std::uint8_t, 16>& b,
               unsigned bits) {
  const unsigned whole = bits / 8;
  if (!std::equal(a.begin(), a.begin() + whole, b.begin())) return false;
  const unsigned rest = bits % 8;
  if (rest == 0) return true;
  const unsigned mask = 0xffU & (0xffU << (8 - rest));
  return ((a[whole] ^ b[whole]) & mask) == 0;
}

}  // namespace

bool IpAddress::link_local() const {
  if (family == Family::kIpv4) return bytes[0] == 169 && bytes[1] == 254;
  return family == Family::kIpv6 && bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80;
}

std::string IpAddress::text() const {
  if (family == Family::kNone) return {};
  std::array<char, INET6_ADDRSTRLEN> buffer{};
  inet_ntop(family == Family::kIpv4 ? AF_INET : AF_INET6, bytes.data(), buffer.data(),
            buffer.size());
  return buffer.data();
}

bool IpPrefix::contains(const IpAddress& other) const {
  return address.family != Family::kNone && address.family == other.family &&
         same_bits(address.bytes, other.bytes, std::min(length, address.bits()));
}

std::string IpPrefix::text() const { return address.text() + '/' + std::to_string(length); }

IpPrefix IpPrefix::network() const {
  IpPrefix network = *this;
  for (unsigned bit = length; bit < address.bits(); ++bit)
    network.address.bytes[bit / 8] &= static_cast<std::uint8_t>(~(0x80U >> (bit % 8)));
  return network;
}

std::string IpPrefix::network_text() const { return network().text(); }

std::optional<IpAddress> parse_address(std::string_view text) {
  const std::string terminated(text);
  IpAddress address;
  if (inet_pton(AF_INET, terminated.c_str(), address.bytes.data()) == 1)
    address.family = Family::kIpv4;
  else if (inet_pton(AF_INET6, terminated.c_str(), address.bytes.data()) == 1)
    address.family = Family::kIpv6;
  else
    return std::nullopt;
  return address;
}

std::optional<IpPrefix> parse_prefix(std::string_view text) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto address = parse_address(text.substr(0, slash));
  if (!address) return std::nullopt;
  unsigned length = 0;
  const std::string_view digits = text.substr(slash + 1);
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), length);
  if (parsed.ec != std::errc() || parsed.ptr != digits.data() + digits.size() ||
      length > address->bits())
    return std::nullopt;
  return IpPrefix{*address, length};
}

IpAddress gid_address(const context::Gid& gid) {
  IpAddress address;
  if (context::gid_ipv4(gid)) {
    address.family = Family::kIpv4;
    std::copy(gid.begin() + 12, gid.end(), address.bytes.begin());
  } else {
    address.family = Family::kIpv6;
    address.bytes = gid;
  }
  return address;
}

}  // namespace nnd::facts
