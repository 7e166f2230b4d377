// Rules about an HCA by itself.
#include <fmt/format.h>

#include <algorithm>

#include "policy/candidates.h"

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

// The first GID that is global and RoCE v2, as a hint where to look.
const Gid* good_gid(const Port& port) {
  for (const Gid& gid : port.gids)
    if (gid.type == GidType::kRoceV2 && !facts::gid_address(gid.raw).link_local()) return &gid;
  return nullptr;
}

std::string gid_remedy(const Port& port) {
  const Gid* good = good_gid(port);
  if (!good) return "Give the interface an IP address.";
  if (port.pick.basis == PickBasis::kForced)
    return fmt::format("Unset NCCL_IB_GID_INDEX: the RoCE v2 GID {} is at index {} here.",
                       good->text, good->index);
  if (facts::gid_address(good->raw).family == facts::Family::kIpv6)
    return fmt::format("NCCL_IB_ADDR_FAMILY=AF_INET6 (there is {} at index {}).", good->text,
                       good->index);
  return fmt::format("Look at NCCL_IB_ADDR_RANGE and NCCL_IB_ROCE_VERSION_NUM: {} is at index {}.",
                     good->text, good->index);
}

void judge_pkey(const Candidate& one, std::vector<Broken>& broken) {
  const Port& port = *one.port;
  // On Ethernet the one partition key is always 0xffff.
  if (!port.infiniband() || port.pkeys.empty() || one.rules.hca.pkey == Action::kAllow) return;
  const bool there =
      port.pkey_index >= 0 && static_cast<std::size_t>(port.pkey_index) < port.pkeys.size();
  const std::uint16_t pkey = there ? port.pkeys[static_cast<std::size_t>(port.pkey_index)] : 0;
  if ((pkey & kFullMember) != 0) return;
  std::string usable;
  for (std::size_t i = 0; i < port.pkeys.size() && usable.empty(); ++i)
    if ((port.pkeys[i] & kFullMember) != 0)
      usable = fmt::format("NCCL_IB_PKEY={} (a full member of {:#06x}).", i, port.pkeys[i]);
  broken.push_back(
      {"hca.pkey", "PKEY",
       fmt::format("{}: the partition key at index {} is {}.", one.name(), port.pkey_index,
                   pkey == 0 ? "empty" : fmt::format("{:#06x}, a limited member", pkey)),
       usable.empty() ? "Ask the subnet manager for full membership." : usable,
       one.rules.hca.pkey});
}

void require(const Candidate& one, bool way_fits, std::string_view wanted,
             std::vector<Broken>& broken) {
  if (way_fits) return;
  broken.push_back(
      {"gdr.require", "GDR-NOMOD",
       fmt::format("{}: the policy asks for GPUDirect by {}, and there is {}: {}.", one.name(),
                   wanted, facts::gdr_way_text(one.hca->gdr.way), one.hca->gdr.why),
       "Load nvidia_peermem, or use the open GPU driver on kernel 5.12 or newer.", Action::kDeny});
}

}  // namespace

void judge_lists(const facts::Node&, const Candidates&, const Candidate& one,
                 std::vector<Broken>& broken) {
  const HcaRules& rules = one.rules.hca;
  const std::string& name = one.hca->name;
  if (listed(rules.deny, name))
    broken.push_back({"hca.deny", "DEV-MGMT", fmt::format("{} is denied by the policy.", name), "",
                      Action::kDeny});
  else if (!rules.allow.empty() && !listed(rules.allow, name))
    broken.push_back({"hca.allow", "DEV-MGMT",
                      fmt::format("{} is not among those that the policy allows.", name), "",
                      Action::kDeny});
}

void judge_own_state(const facts::Node& node, const Candidates&, const Candidate& one,
                     std::vector<Broken>& broken) {
  const HcaRules& rules = one.rules.hca;
  const Port& port = *one.port;
  if (rules.unusable != Action::kAllow && one.hca->device_path.empty() &&
      facts::crashes_without_pci_path(node.nccl_version))
    broken.push_back(
        {"hca.unusable", "DEV-NOPCI",
         fmt::format("{} has no device path in sysfs, and NCCL {}.{} crashes on such a "
                     "device.",
                     one.hca->name, node.nccl_version / 10000, node.nccl_version / 100 % 100),
         "", rules.unusable});
  if (rules.lid != Action::kAllow && port.infiniband() && port.lid == 0)
    broken.push_back({"hca.lid", "IB-NOSM", fmt::format("{} is active and has no LID.", one.name()),
                      "Look for the subnet manager (sminfo).", rules.lid});
  if (rules.phys_state != Action::kAllow && port.phys_state != 0 && port.phys_state != kLinkUp)
    broken.push_back({"hca.phys_state", "DEV-DOWN",
                      fmt::format("{} is ACTIVE, and its physical state is {}: NCCL takes it.",
                                  one.name(), facts::phys_state_text(port.phys_state)),
                      "Look at the cable and the switch port, or exclude it.", rules.phys_state});
  if (rules.min_speed_mbps > 0 && port.speed_mbps > 0 && port.speed_mbps < rules.min_speed_mbps)
    broken.push_back({"hca.min_speed_mbps", "DEV-SLOW",
                      fmt::format("{} runs at {} Mbit/s, the policy asks for {}.", one.name(),
                                  port.speed_mbps, rules.min_speed_mbps),
                      "", Action::kDeny});
  judge_pkey(one, broken);
}

void judge_gid(const facts::Node&, const Candidates&, const Candidate& one,
               std::vector<Broken>& broken) {
  const Port& port = *one.port;
  const RoceRules& rules = one.rules.roce;
  if (!port.ethernet()) return;
  const auto add = [&](const char* rule, const char* cause, std::string fact, std::string remedy,
                       Action action) {
    if (action != Action::kAllow)
      broken.push_back({rule, cause, std::move(fact), std::move(remedy), action});
  };
  if (port.gids.empty())
    return add("roce.empty_gid", "GID-CONT",
               fmt::format("{} has no GID here (0 of {}).", one.name(), port.gid_table_length),
               "Give the container a network of its own RDMA device, or the host's network.",
               rules.empty_gid);
  if (port.pick.index < 0)
    return add("roce.empty_gid", "GID-CONT", fmt::format("{}: {}.", one.name(), port.pick.why),
               "Mount /sys, and give the container a network of its own RDMA device.",
               rules.empty_gid);
  const bool forced = port.pick.basis == PickBasis::kForced;
  const Gid* gid = port.picked();
  if (!gid)
    return add(forced ? "roce.forced_gid" : "roce.empty_gid", forced ? "GID-WRONG" : "GID-CONT",
               fmt::format("{}: the GID at index {} is empty ({}).", one.name(), port.pick.index,
                           port.pick.why),
               gid_remedy(port), forced ? rules.forced_gid : rules.empty_gid);
  const facts::IpAddress address = facts::gid_address(gid->raw);
  if (address.link_local())
    add("roce.link_local", forced ? "GID-WRONG" : "GID-LINKLOCAL",
        fmt::format("{}: NCCL uses the link-local GID {} at index {} ({}).", one.name(), gid->text,
                    gid->index, port.pick.why),
        gid_remedy(port), rules.link_local);
  else if (gid->type == GidType::kRoceV1)
    add("roce.v1", forced ? "GID-WRONG" : "GID-V1",
        fmt::format("{}: NCCL uses the RoCE v1 GID {} at index {} ({}).", one.name(), gid->text,
                    gid->index, port.pick.why),
        gid_remedy(port), rules.v1);
  const auto inside = [&address](const facts::IpPrefix& net) { return net.contains(address); };
  if (!rules.subnets.empty() && std::none_of(rules.subnets.begin(), rules.subnets.end(), inside))
    broken.push_back(
        {"roce.subnets", "SUB-RAIL",
         fmt::format("{}: {} is in none of the policy's subnets.", one.name(), address.text()), "",
         Action::kDeny});
}

void judge_gdr(const facts::Node& node, const Candidates&, const Candidate& one,
               std::vector<Broken>& broken) {
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
  if (way == GdrWay::kNone && node.system.gpu_driver_loaded && one.rules.gdr_none != Action::kAllow)
    broken.push_back({"gdr.missing", "GDR-NOMOD",
                      fmt::format("{}: no GPUDirect RDMA, GPU memory goes through the host: {}.",
                                  one.name(), one.hca->gdr.why),
                      "Load nvidia_peermem, or use the open GPU driver on kernel 5.12 or newer.",
                      one.rules.gdr_none});
}

}  // namespace nnd::policy
