#include "report/rails_apart.h"

#include <algorithm>
#include <set>
#include <utility>

#include "facts/ip.h"
#include "nccl_net_diag/causes.h"

namespace nnd::report {

namespace {

std::optional<facts::IpAddress> address_of(const std::string& gid) {
  auto out = facts::parse_address(gid);
  if (out && out->family == facts::Family::kIpv6) out = facts::gid_address(out->bytes);
  return out;
}

bool is_in(const facts::IpAddress& address, const std::string& subnet) {
  const auto prefix = facts::parse_prefix(subnet);
  return prefix && prefix->contains(address);
}

// Of those that were made: whether any goes from one network into another, and whether any doesn't.
struct Made {
  bool between = false, within = false;
};

Made made_in(const Picture& picture) {
  Made out;
  for (std::size_t i = 0; i < picture.members.size(); ++i)
    for (const auto& [number, connection] : picture.members[i].log->connections) {
      if (connection.ready_ns == 0) continue;
      const auto peer = address_of(connection.peer.gid);
      const auto subnet = picture.place_of(i, connection.dev).subnet;
      if (peer && !subnet.empty()) (is_in(*peer, subnet) ? out.within : out.between) = true;
    }
  return out;
}

// A process's HCAs and their subnets.
std::set<std::pair<std::string, std::string>> rails_of(const log::Process& process) {
  std::set<std::pair<std::string, std::string>> out;
  for (const auto& hca : process.hcas)
    if (!hca.dev.subnet.empty()) out.emplace(hca.dev.name, hca.dev.subnet);
  return out;
}

}  // namespace

std::optional<RailsApart> rails_apart(const Picture& picture, const Failure& failure) {
  const auto& told = *failure.told;
  if (told.event != nccl_net_diag::event_name(nccl_net_diag::EventId::kConnFail)) return {};
  const auto& log = *picture.members[failure.member].log;
  if (told.conn)
    if (const auto found = log.connections.find(*told.conn);
        found != log.connections.end() && found->second.ready_ns != 0)
      return {};
  const auto peer = address_of(told.peer.gid);
  if (!peer || failure.here.subnet.empty() || is_in(*peer, failure.here.subnet)) return {};
  const Made made = made_in(picture);
  if (made.between) return {};
  RailsApart out;
  out.address = peer->text();
  for (const auto& hca : log.hcas)
    if (hca.verdict == "taken" && is_in(*peer, hca.dev.subnet)) {
      out.subnet = hca.dev.subnet;
      out.dev = hca.dev.name;
    }
  // Where each node has networks of its own there are routes between them.
  if (out.dev.empty() && !made.within) return {};
  return out;
}

bool crosses_rails(const Picture& picture, const std::vector<Failure>& failures) {
  if (failures.empty() || picture.hosts.size() < 2) return false;
  const auto rails = rails_of(*picture.members.front().log);
  const auto is_rail = [&](const Place& place) {
    return rails.contains({place.dev, place.subnet});
  };
  return std::all_of(failures.begin(), failures.end(),
                     [&](const Failure& one) {
                       return one.told->cause ==
                                  nccl_net_diag::cause_id(nccl_net_diag::Cause::kSubRail) &&
                              is_rail(one.here) && is_rail(one.there) &&
                              one.here.subnet != one.there.subnet;
                     }) &&
         std::all_of(picture.members.begin(), picture.members.end(),
                     [&](const Member& member) { return rails_of(*member.log) == rails; });
}

}  // namespace nnd::report
