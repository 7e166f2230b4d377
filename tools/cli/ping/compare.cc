#include "cli/ping/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "cli/common/gid_text.h"
#include "nccl_net_diag/causes.h"

namespace nnd::cli {

namespace {

// NCCL takes it, and nothing is odd about it.
bool whole(const PortDescription& port) { return port.verdict == "taken" && port.rules.empty(); }

bool is_down(const PortDescription& port) {
  return port.verdict == "skipped" && port.port != 0 && !port.reasons.empty() &&
         port.reasons.front().find("NCCL_IB_HCA") == std::string::npos;
}

bool slower(const PortDescription& one, const PortDescription& other) {
  return one.verdict == "taken" && one.speed_mbps != 0 && one.speed_mbps < other.speed_mbps;
}

// "mlx5_0" where that HCA has one port, else "mlx5_0:1".
std::string listed(const HostDescription& host, const PortDescription& port) {
  const auto ports = std::count_if(host.ports.begin(), host.ports.end(),
                                   [&](const auto& other) { return other.hca == port.hca; });
  return ports == 1 ? port.hca : port.name();
}

// Those that are whole on all hosts.
std::string common_list(const std::vector<HostDescription>& hosts) {
  std::vector<std::string> out;
  for (const PortDescription& port : hosts.front().ports)
    if (std::all_of(hosts.begin(), hosts.end(), [&](const HostDescription& host) {
          const PortDescription* own = host.find(port.name());
          return own != nullptr && whole(*own) && own->speed_mbps == port.speed_mbps;
        }))
      out.push_back(listed(hosts.front(), port));
  return out.empty() ? "" : fmt::format("NCCL_IB_HCA=={}", fmt::join(out, ","));
}

// "10.200.2.1/24" of "::ffff:10.200.2.1" and "10.200.2.0/24".
std::string address_of(const PairEnd& end) {
  const auto slash = end.subnet.find('/');
  return without_mapping(end.gid) + (slash == std::string::npos ? "" : end.subnet.substr(slash));
}

std::string text_of_end(const PairEnd& end) {
  return fmt::format("{}'s {} has {}", end.host, end.netdev.empty() ? end.hca : end.netdev,
                     address_of(end));
}

// The first two octets of an IPv4 address: what the rails of a plan mostly have in common.
std::string head_of(const PairEnd& end) {
  const std::string text = address_of(end);
  const auto dot = text.find('.');
  return dot == std::string::npos ? "" : text.substr(0, text.find('.', dot + 1));
}

// The port of that host in that subnet, among those that took part; empty: none.
std::string in_subnet(const std::vector<PairResult>& pairs, const std::string& host,
                      const std::string& subnet) {
  for (const PairResult& pair : pairs)
    for (const PairEnd* end : {&pair.from, &pair.to})
      if (end->host == host && end->subnet == subnet) return end->port_name();
  return {};
}

bool broke(const PairEnd& end, std::string_view rule) {
  return std::find(end.rules.begin(), end.rules.end(), rule) != end.rules.end();
}

// A pair of rails, as far as the two hosts' own rules say: what is a bond among rails, or of
// another network on both hosts, has no address to be corrected.
bool of_one_name(const PairResult& pair) {
  for (const PairEnd* end : {&pair.from, &pair.to})
    if (broke(*end, "hca.bond") || broke(*end, "hca.link_layer")) return false;
  if (broke(pair.from, "hca.outside") && broke(pair.to, "hca.outside")) return false;
  return pair.from.port_name() == pair.to.port_name() && !pair.from.subnet.empty() &&
         !pair.to.subnet.empty() && !pair.from.subnet.starts_with("fe80:");
}

}  // namespace

std::vector<std::string> rails_short(const std::vector<HostDescription>& hosts) {
  std::vector<std::string> out;
  for (const HostDescription& lacks : hosts)
    for (const PortDescription& port : lacks.ports)
      for (const HostDescription& has : hosts) {
        const PortDescription* const other = has.find(port.name());
        if (&has == &lacks || other == nullptr || !whole(*other)) continue;
        if (is_down(port))
          out.push_back(fmt::format("{}'s {} is {}, and {}'s is used", lacks.host, port.name(),
                                    fmt::join(port.reasons, ", "), has.host));
        else if (slower(port, *other))
          out.push_back(fmt::format("{}'s {} runs at {:g} Gbit/s, {}'s at {:g} Gbit/s", lacks.host,
                                    port.name(), static_cast<double>(port.speed_mbps) / 1000,
                                    has.host, static_cast<double>(other->speed_mbps) / 1000));
        else
          continue;
        const std::string list = common_list(hosts);
        out.back() += ": NCCL may pair its rails with others. Mend the link";
        if (!list.empty()) out.back() += "; until then, on both: " + list;
        break;
      }
  return out;
}

void find_misaddressed(std::vector<PairResult>& pairs) {
  std::set<std::string> heads;
  std::vector<PairResult*> apart;
  for (PairResult& pair : pairs) {
    if (!of_one_name(pair)) continue;
    if (pair.from.subnet != pair.to.subnet)
      apart.push_back(&pair);
    else
      heads.insert(head_of(pair.from));
  }
  if (heads.empty()) return;
  for (PairResult* pair : apart) {
    if (pair->reachable()) continue;
    pair->apart = false;
    const bool from_fits = heads.contains(head_of(pair->from));
    const bool to_fits = heads.contains(head_of(pair->to));
    const std::string both = text_of_end(pair->from) + ", " + text_of_end(pair->to);
    pair->told = pair->told.value_or(log::Diagnosis());
    if (const std::string other = in_subnet(pairs, pair->to.host, pair->from.subnet);
        !other.empty()) {
      pair->told->fix = fmt::format(
          "{}; {}'s {} is in the first one's subnet: the hosts number, cable or address these HCAs "
          "differently. Make both alike, since NCCL pairs by number.",
          both, pair->to.host, other);
      continue;
    }
    pair->told->fix =
        both + ": correct the address or the mask" +
        (from_fits == to_fits ? std::string(" of the one that is not like its node's other rails.")
                              : fmt::format(" of {}'s, which is not like the other rails.",
                                            (from_fits ? pair->to : pair->from).host));
  }
}

void name_mixed_links(const std::vector<HostDescription>& hosts, PairResult& pair) {
  const auto layer = [&hosts](const PairEnd& end) {
    for (const HostDescription& host : hosts)
      if (host.host == end.host)
        if (const PortDescription* port = host.find(end.port_name())) return port->link_layer;
    return std::string();
  };
  const std::string from = layer(pair.from), to = layer(pair.to);
  if (pair.reachable() || from.empty() || to.empty() || from == to) return;
  log::Diagnosis told;
  told.cause = nccl_net_diag::cause_id(nccl_net_diag::Cause::kDevMixLl);
  told.msg =
      fmt::format("{} of {} is {}, {} of {} is {}: they can never talk.", pair.from.port_name(),
                  pair.from.host, from, pair.to.port_name(), pair.to.host, to);
  told.fix = "Select HCAs of one link layer with NCCL_IB_HCA on both hosts.";
  pair.why = fmt::format("{} against {}", from, to);
  pair.told = std::move(told);
  pair.error.reset();
}

}  // namespace nnd::cli
