#include "policy/address_plan.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

namespace nnd::policy {

namespace {

using facts::Family;
using facts::IpPrefix;

constexpr unsigned kInfinibandPrefix = 64;

unsigned step_of(const IpPrefix& prefix) { return prefix.address.family == Family::kIpv4 ? 8 : 16; }

// What they have in common, shortened to whole octets (IPv6: to 16 bits), so that one more rail of
// the same plan is inside. Nothing where they have little in common.
std::optional<IpPrefix> common_network(const std::vector<IpPrefix>& networks) {
  if (networks.empty()) return std::nullopt;
  IpPrefix out = networks.front();
  for (const IpPrefix& other : networks) {
    if (other.address.family != out.address.family) return std::nullopt;
    out.length = std::min(out.length, other.length);
    while (out.length > 0 && !out.contains(other.address)) --out.length;
  }
  const unsigned step = step_of(out);
  const bool one_subnet = std::all_of(networks.begin(), networks.end(), [&](const IpPrefix& other) {
    return other.length == out.length;
  });
  if (!one_subnet) out.length -= out.length % step;
  if (out.length < step) return std::nullopt;
  return out;
}

// Which of the subnets of its length an IPv4 subnet is.
std::uint32_t number_of(const IpPrefix& network) {
  std::uint32_t out = 0;
  for (std::size_t i = 0; i < 4; ++i) out = out << 8U | network.address.bytes[i];
  return network.length == 0 ? 0 : out >> (32 - network.length);
}

// Those that share their first bits with most, at least two of three; all of them where none do.
std::vector<IpPrefix> majority(const std::vector<IpPrefix>& networks, unsigned bits) {
  std::map<std::string, std::vector<IpPrefix>> parts;
  for (const IpPrefix& one : networks)
    parts[IpPrefix{one.address, bits}.network_text()].push_back(one);
  for (const auto& [text, part] : parts)
    if (part.size() * 3 >= networks.size() * 2) return part;
  return networks;
}

}  // namespace

std::optional<IpPrefix> network_of(const Candidate& one) {
  const facts::Gid* gid = one.port->picked();
  if (!gid) return std::nullopt;
  if (one.port->infiniband()) return IpPrefix{{Family::kIpv6, gid->raw}, kInfinibandPrefix};
  if (!gid->address || gid->address->address.link_local()) return std::nullopt;
  return gid->address;
}

std::optional<IpPrefix> plan_of(const std::vector<const Candidate*>& members) {
  std::vector<IpPrefix> networks;
  for (const Candidate* one : members)
    if (const auto network = network_of(*one)) networks.push_back(*network);
  if (networks.size() < 2) return std::nullopt;  // one HCA makes no plan: two rails may well differ
  if (members.front()->port->infiniband()) {
    const auto part = majority(networks, kInfinibandPrefix);
    const bool alike = std::all_of(part.begin(), part.end(), [&part](const IpPrefix& one) {
      return one.network_text() == part.front().network_text();
    });
    return alike ? std::optional(part.front()) : std::nullopt;
  }
  // From the widest network inwards, as far as most go along. Within a subnet there is no plan.
  unsigned shortest = networks.front().length;
  for (const IpPrefix& one : networks) shortest = std::min(shortest, one.length);
  for (unsigned bits = step_of(networks.front()); bits <= shortest;
       bits += step_of(networks.front()))
    networks = majority(networks, bits);
  return common_network(networks);
}

bool numbered_on(const std::vector<Candidate*>& members, const IpPrefix& plan,
                 const IpPrefix& own) {
  if (own.address.family != Family::kIpv4) return false;
  std::set<std::uint32_t> all, planned;
  for (const Candidate* one : members) {
    const auto network = network_of(*one);
    if (!network || network->address.family != Family::kIpv4 || network->length != own.length)
      continue;
    all.insert(number_of(*network));
    if (plan.contains(network->address)) planned.insert(number_of(*network));
  }
  if (planned.size() < 2) return false;  // one subnet for all is not numbered
  const auto reaches = [&](std::uint32_t step) {
    // Over one that is missing, as a rail may be that is down.
    for (std::uint32_t at = number_of(own) + step; all.contains(at) || all.contains(at + step);
         at += step)
      if (planned.contains(at)) return true;
    return false;
  };
  return reaches(1) || reaches(~0U);
}

}  // namespace nnd::policy
