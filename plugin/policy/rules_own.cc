// Rules about an HCA by itself.
#include <algorithm>
#include <optional>

#include "diagnosis/device.h"
#include "policy/candidates.h"
#include "policy/judge.h"

namespace nnd::policy {

namespace {

using facts::Gid;
using facts::GidType;
using facts::PickBasis;
using facts::Port;

constexpr std::uint16_t kFullMember = 0x8000;
constexpr int kLinkUp = 5;  // physical state

bool listed(const std::vector<std::string>& globs, const std::string& name) {
  return std::any_of(globs.begin(), globs.end(),
                     [&name](const std::string& glob) { return glob_match(glob, name); });
}

// The first GID that is global and RoCE v2, as a hint where to look; of that network, where one is
// given.
diagnosis::GoodGid good_gid(const Port& port, const std::optional<facts::IpPrefix>& within = {}) {
  for (const Gid& gid : port.gids) {
    const facts::IpAddress address = facts::gid_address(gid.raw);
    if (gid.type == GidType::kRoceV2 && !address.link_local() &&
        (!within || within->contains(address)))
      return {gid.text(), gid.index, address.family == facts::Family::kIpv6};
  }
  return {};
}

void judge_pkey(const Candidate& one, std::vector<Verdict>& broken) {
  const Port& port = *one.port;
  // On Ethernet the one partition key is always 0xffff.
  if (!port.infiniband() || port.pkeys.empty() || one.rules.hca.pkey == Action::kAllow) return;
  const bool there =
      port.pkey_index >= 0 && static_cast<std::size_t>(port.pkey_index) < port.pkeys.size();
  const std::uint16_t pkey = there ? port.pkeys[static_cast<std::size_t>(port.pkey_index)] : 0;
  if ((pkey & kFullMember) != 0) return;
  diagnosis::BadPkey seen{one.name(), port.pkey_index, pkey};
  for (std::size_t i = 0; i < port.pkeys.size() && seen.full_index < 0; ++i)
    if ((port.pkeys[i] & kFullMember) != 0) {
      seen.full_index = static_cast<int>(i);
      seen.full_key = port.pkeys[i];
    }
  broken.push_back({"hca.pkey", diagnose(seen), one.rules.hca.pkey});
}

// Two machines and a cable: addresses of 169.254/16, as some vendor's guides ask for, on every
// port. Where other ports have better ones, such an address is what a failed DHCP leaves.
bool joined_by_cable(const Candidates& all) {
  return std::all_of(all.begin(), all.end(), [](const Candidate& one) {
    const Gid* gid = one.port->picked();
    if (!gid || !one.port->ethernet()) return false;
    const facts::IpAddress address = facts::gid_address(gid->raw);
    return address.family == facts::Family::kIpv4 && address.link_local();
  });
}

void require(const Candidate& one, bool way_fits, std::string_view wanted,
             std::vector<Verdict>& broken) {
  if (way_fits) return;
  const facts::GdrState& gdr = one.hca->gdr;
  broken.push_back({"gdr.require",
                    diagnose(diagnosis::NoGpuDirect{one.name(), gdr.why, std::string(wanted),
                                                    facts::gdr_way_text(gdr.way),
                                                    gdr.unseen_module && wanted != "DMA-BUF"}),
                    Action::kDeny});
}

}  // namespace

bool denied_by_name(const Policy& policy, std::string_view host, std::string_view device) {
  const HcaRules rules = policy.for_device(host, device).hca;
  const std::string name(device);
  return listed(rules.deny, name) || (!rules.allow.empty() && !listed(rules.allow, name));
}

void judge_lists(const facts::Node&, const Candidates&, const Candidate& one,
                 std::vector<Verdict>& broken) {
  const HcaRules& rules = one.rules.hca;
  const std::string& name = one.hca->name;
  if (listed(rules.deny, name))
    broken.push_back({"hca.deny", diagnose(diagnosis::DeniedByName{name}), Action::kDeny});
  else if (!rules.allow.empty() && !listed(rules.allow, name))
    broken.push_back({"hca.allow", diagnose(diagnosis::DeniedByName{name, true}), Action::kDeny});
}

void judge_own_state(const facts::Node& node, const Candidates&, const Candidate& one,
                     std::vector<Verdict>& broken) {
  const HcaRules& rules = one.rules.hca;
  const Port& port = *one.port;
  if (const auto crash = facts::crash_of(node, *one.hca); crash && rules.unusable != Action::kAllow)
    broken.push_back({"hca.unusable", diagnose(*crash), rules.unusable});
  if (rules.lid != Action::kAllow && port.infiniband() && port.lid == 0)
    broken.push_back({"hca.lid", diagnose(diagnosis::NoLid{one.name()}), rules.lid});
  if (rules.phys_state != Action::kAllow && port.phys_state != 0 && port.phys_state != kLinkUp)
    broken.push_back(
        {"hca.phys_state",
         diagnose(diagnosis::LinkNotUp{one.name(), facts::phys_state_text(port.phys_state)}),
         rules.phys_state, "", 0, true});
  if (rules.min_speed_mbps > 0 && port.speed_mbps > 0 && port.speed_mbps < rules.min_speed_mbps)
    broken.push_back(
        {"hca.min_speed_mbps",
         diagnose(diagnosis::BelowMinimumSpeed{one.name(), port.speed_mbps, rules.min_speed_mbps}),
         Action::kDeny});
  judge_pkey(one, broken);
}

void judge_gid(const facts::Node& node, const Candidates& all, const Candidate& one,
               std::vector<Verdict>& broken) {
  const Port& port = *one.port;
  const RoceRules& rules = one.rules.roce;
  if (!port.ethernet()) return;
  const auto add = [&](const char* rule, diagnosis::Diagnosis diagnosis, Action action) {
    if (action != Action::kAllow) broken.push_back({rule, std::move(diagnosis), action});
  };
  if (port.gids.empty())
    return add("roce.empty_gid", diagnose(diagnosis::NoGid{one.name(), port.gid_table_length}),
               rules.empty_gid);
  if (port.pick.index < 0)
    return add(port.pick.by.empty() ? "roce.empty_gid" : "roce.forced_gid",
               diagnose(diagnosis::UnreadableGid{one.name(), port.pick.why, port.pick.by}),
               port.pick.by.empty() ? rules.empty_gid : rules.forced_gid);
  using Fault = diagnosis::PickedGid::Fault;
  const bool forced = port.pick.basis == PickBasis::kForced;
  const Gid* gid = port.picked();
  const auto picked = [&](Fault fault) {
    return diagnose(diagnosis::PickedGid{fault, one.name(), port.pick.index, gid ? gid->text() : "",
                                         port.pick.why, forced, good_gid(port), port.pick.by,
                                         port.pick.basis == PickBasis::kFixedDefault});
  };
  if (!gid)
    return add(forced ? "roce.forced_gid" : "roce.empty_gid", picked(Fault::kEmpty),
               forced ? rules.forced_gid : rules.empty_gid);
  const facts::IpAddress address = facts::gid_address(gid->raw);
  if (address.link_local() && !joined_by_cable(all))
    add("roce.link_local", picked(Fault::kLinkLocal), rules.link_local);
  else if (gid->type == GidType::kRoceV1)
    add("roce.v1", picked(Fault::kRoceV1), rules.v1);
  if (one.foreign_gid)
    add("hca.outside",
        diagnose(diagnosis::ForeignGid{
            one.name(), gid->netdev, address.text(), one.foreign_gid->plan.network_text(),
            good_gid(port, one.foreign_gid->plan), !nccl_abi::kPicksGid.has(node.nccl_version)}),
        std::min(one.rules.hca.outside, Action::kWarn));
  const auto inside = [&address](const facts::IpPrefix& net) { return net.contains(address); };
  if (!rules.subnets.empty() && std::none_of(rules.subnets.begin(), rules.subnets.end(), inside))
    add("roce.subnets", diagnose(diagnosis::OutsideSubnets{one.name(), address.text()}),
        Action::kDeny);
}

void judge_gdr(const facts::Node& node, const Candidates&, const Candidate& one,
               std::vector<Verdict>& broken) {
  using facts::GdrWay;
  const GdrWay way = one.hca->gdr.way;
  if (way == GdrWay::kUnknown) return;
  switch (one.rules.gdr) {
    case GdrRule::kAny:
      return require(one, way != GdrWay::kNone, "any way", broken);
    case GdrRule::kDmabuf:
      return require(one, way == GdrWay::kDmabuf, "DMA-BUF", broken);
    case GdrRule::kPeermem:
      return require(one, one.hca->gdr.peermem, "peermem", broken);
    case GdrRule::kNone:
      break;
  }
  if (way == GdrWay::kNone && !one.hca->gdr.gpu_lacks && node.system.gpu_driver_loaded &&
      one.rules.gdr_none != Action::kAllow)
    broken.push_back({"gdr.missing",
                      diagnose(diagnosis::NoGpuDirect{
                          one.name(), one.hca->gdr.why, {}, {}, one.hca->gdr.unseen_module}),
                      one.rules.gdr_none});
}

}  // namespace nnd::policy
