#include "report/address_plan.h"

#include <algorithm>
#include <cstdint>

#include "facts/ip.h"

namespace nnd::report {

namespace {

using Prefix = facts::IpPrefix;

Prefix cut(Prefix prefix, unsigned length) {
  prefix.length = length;
  return prefix.network();
}

std::optional<Prefix> prefix_of(const std::string& subnet) {
  const auto prefix = facts::parse_prefix(subnet);
  return prefix ? std::optional(prefix->network()) : std::nullopt;
}

unsigned common_length(const Prefix& a, const Prefix& b) {
  const unsigned most = std::min(a.length, b.length);
  unsigned length = 0;
  while (length < most && cut(a, length + 1) == cut(b, length + 1)) ++length;
  return length;
}

// Where neighbours part there is a branch of the plan.
std::set<Prefix> branches_of(const std::set<Prefix>& subnets) {
  std::set<Prefix> out;
  const Prefix* last = nullptr;
  for (const auto& one : subnets) {
    if (last != nullptr && last->address.family == one.address.family)
      if (const unsigned length = common_length(*last, one); length > 0)
        out.insert(cut(one, length));
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
  std::set<unsigned> lengths;
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
        planes.push_back({branch.text(), sizes[branch], distinct.size()});
    });
}

const std::vector<Plane>& AddressPlan::planes_of(const std::string& subnet) const {
  static const std::vector<Plane> none;
  const auto found = planes_.find(subnet);
  return found != planes_.end() ? found->second : none;
}

bool is_cable(const std::string& subnet) {
  const auto prefix = facts::parse_prefix(subnet);
  if (!prefix) return false;
  const unsigned bits = prefix->address.bits();
  return prefix->length < bits && prefix->length >= bits - 2;
}

std::optional<std::string> other_end(const std::string& gid, const std::string& subnet) {
  if (!is_cable(subnet)) return std::nullopt;
  const auto network = facts::parse_prefix(subnet);
  auto address = facts::parse_address(gid);
  if (!address) return std::nullopt;
  if (address->family == facts::Family::kIpv6) address = facts::gid_address(address->bytes);
  if (!network->contains(*address)) return std::nullopt;
  auto& last = address->bytes[address->bits() / 8 - 1];
  const bool pair = network->length == address->bits() - 1;
  const unsigned place = last & (pair ? 1u : 3u);
  // Of four addresses the first and the last are the network's own.
  if (!pair && (place == 0 || place == 3)) return std::nullopt;
  last = static_cast<std::uint8_t>(last ^ (pair ? 1u : 3u));
  return address->text();
}

}  // namespace nnd::report
