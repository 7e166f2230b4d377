#include "report/address_plan.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <string_view>

namespace nnd::report {

namespace {

using Bytes = std::array<std::uint8_t, 16>;

struct Prefix {
  int family = AF_INET;
  Bytes bytes{};
  int length = 0;

  auto operator<=>(const Prefix&) const = default;
  int bits() const { return family == AF_INET ? 32 : 128; }
};

std::optional<Prefix> address_of(const std::string& text) {
  Prefix out;
  out.family = text.find(':') == std::string::npos ? AF_INET : AF_INET6;
  out.length = out.bits();
  if (inet_pton(out.family, text.c_str(), out.bytes.data()) != 1) return std::nullopt;
  return out;
}

Prefix cut(Prefix prefix, int length) {
  prefix.length = length;
  for (int bit = length; bit < prefix.bits(); ++bit)
    prefix.bytes[static_cast<std::size_t>(bit / 8)] &=
        static_cast<std::uint8_t>(~(0x80u >> (bit % 8)));
  return prefix;
}

std::optional<Prefix> prefix_of(const std::string& subnet) {
  const auto slash = subnet.find('/');
  if (slash == std::string::npos) return std::nullopt;
  auto out = address_of(subnet.substr(0, slash));
  int length = 0;
  const char* end = subnet.data() + subnet.size();
  const auto parsed = std::from_chars(subnet.data() + slash + 1, end, length);
  if (!out || parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  if (length < 0 || length > out->bits()) return std::nullopt;
  return cut(*out, length);
}

std::string address_text(const Prefix& prefix) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(prefix.family, prefix.bytes.data(), text.data(), text.size());
  return text.data();
}

int common_length(const Prefix& a, const Prefix& b) {
  const int most = std::min(a.length, b.length);
  int length = 0;
  while (length < most && cut(a, length + 1).bytes == cut(b, length + 1).bytes) ++length;
  return length;
}

// Where neighbours part there is a branch of the plan.
std::set<Prefix> branches_of(const std::set<Prefix>& subnets) {
  std::set<Prefix> out;
  const Prefix* last = nullptr;
  for (const auto& one : subnets) {
    if (last != nullptr && last->family == one.family)
      if (const int length = common_length(*last, one); length > 0) out.insert(cut(one, length));
    last = &one;
  }
  return out;
}

}  // namespace

AddressPlan::AddressPlan(const std::set<std::string>& subnets) {
  std::map<std::string, Prefix> parsed;
  std::set<Prefix> distinct;
  for (const auto& text : subnets)
    if (const auto prefix = prefix_of(text)) {
      parsed.emplace(text, *prefix);
      distinct.insert(*prefix);
    }
  const auto branches = branches_of(distinct);
  std::set<int> lengths;
  for (const auto& branch : branches) lengths.insert(branch.length);
  const auto each_branch = [&](const Prefix& subnet, const auto& take) {
    for (auto length = lengths.rbegin(); length != lengths.rend(); ++length)
      if (*length < subnet.length)
        if (const auto found = branches.find(cut(subnet, *length)); found != branches.end())
          take(*found);
  };
  std::map<Prefix, std::size_t> sizes;
  for (const auto& subnet : distinct)
    each_branch(subnet, [&](const Prefix& branch) { ++sizes[branch]; });
  for (const auto& [text, subnet] : parsed)
    each_branch(subnet, [&, &planes = planes_[text]](const Prefix& branch) {
      if (sizes[branch] < distinct.size())
        planes.push_back({fmt::format("{}/{}", address_text(branch), branch.length), sizes[branch],
                          distinct.size()});
    });
}

const std::vector<Plane>& AddressPlan::planes_of(const std::string& subnet) const {
  static const std::vector<Plane> none;
  const auto found = planes_.find(subnet);
  return found != planes_.end() ? found->second : none;
}

bool is_cable(const std::string& subnet) {
  const auto prefix = prefix_of(subnet);
  return prefix && prefix->length < prefix->bits() && prefix->length >= prefix->bits() - 2;
}

std::optional<std::string> other_end(const std::string& gid, const std::string& subnet) {
  constexpr std::string_view kMapped = "::ffff:";
  if (!is_cable(subnet)) return std::nullopt;
  const auto network = prefix_of(subnet);
  const bool mapped = gid.starts_with(kMapped) && gid.find('.') != std::string::npos;
  auto address = address_of(mapped ? gid.substr(kMapped.size()) : gid);
  if (!address || address->family != network->family) return std::nullopt;
  if (cut(*address, network->length) != *network) return std::nullopt;
  auto& last = address->bytes[static_cast<std::size_t>(address->bits() / 8 - 1)];
  const bool pair = network->length == address->bits() - 1;
  const unsigned place = last & (pair ? 1u : 3u);
  // Of four addresses the first and the last are the network's own.
  if (!pair && (place == 0 || place == 3)) return std::nullopt;
  last = static_cast<std::uint8_t>(last ^ (pair ? 1u : 3u));
  return address_text(*address);
}

}  // namespace nnd::report
