#include "diagnosis/device.h"

#include <fmt/format.h>

#include <system_error>

namespace nnd::diagnosis {

namespace {

// NCCL's search weighs HCAs node by node: one that is missing or slow changes which of them a node
// uses, and so with which of the peer's each is paired.
constexpr const char* kRailShort =
    "the node is a rail short, and NCCL may pair its rails with other rails of whole nodes";
constexpr const char* kMendLink = "Look at the cable, the module and the switch port.";

// "2.22"
std::string release(int nccl_version) {
  return fmt::format("{}.{}", nccl_version / 10000, nccl_version / 100 % 100);
}

const char* node_clause(CannotOpen::Node node) {
  switch (node) {
    case CannotOpen::Node::kMissing:
      return "; its device node is missing here";
    case CannotOpen::Node::kCgroup:
      return "; the device cgroup keeps its device node from this process";
    case CannotOpen::Node::kPermissions:
      return "; the permissions of its device node, or a mount with nodev, keep it from this "
             "process";
    case CannotOpen::Node::kNotKnown:
      break;
  }
  return "";
}

std::string gid_remedy(const PickedGid& seen) {
  const GoodGid& good = seen.good;
  if (good.text.empty()) return "Give the interface an IP address.";
  const std::string there =
      fmt::format("the RoCE v2 GID {} is at index {} here", good.text, good.index);
  if (seen.forced) return fmt::format("Unset NCCL_IB_GID_INDEX: {}.", there);
  if (!seen.by.empty() && !(good.ipv6 && seen.by == "NCCL_IB_ADDR_RANGE"))
    return fmt::format("Unset {}: {}.", seen.by, there);
  if (seen.by_index)
    return fmt::format(
        "NCCL_IB_GID_INDEX={} on every node ({}), or NCCL 2.21 or newer, which finds it "
        "by itself.",
        good.index, there);
  if (good.ipv6)
    return fmt::format("NCCL_IB_ADDR_FAMILY=AF_INET6 (there is {} at index {}).", good.text,
                       good.index);
  return fmt::format("Look at NCCL_IB_ADDR_RANGE and NCCL_IB_ROCE_VERSION_NUM: {} is at index {}.",
                     good.text, good.index);
}

const char* give_node(const CannotOpen& seen) {
  return seen.bare_host ? "Give the job's user access to" : "Give the container";
}

// By what a person calls the interface, else by where it leads.
const char* role(const OutsideFabric& seen) {
  if (seen.netdev.find("stor") != std::string::npos) return "storage";
  if (seen.netdev.find("mgmt") != std::string::npos) return "management";
  return seen.unlike.default_route.empty() ? "storage or front-end" : "front-end or management";
}

}  // namespace

std::string gbits(long mbps) {
  return fmt::format("{:g} Gbit/s", static_cast<double>(mbps) / 1000);
}

Diagnosis diagnose(const CannotOpen& seen) {
  return {Cause::kDevUnusable,
          fmt::format("{} is listed but can't be opened ({}){}.", seen.device,
                      std::generic_category().message(seen.error), node_clause(seen.node)),
          fmt::format("{} /dev/infiniband/{}{}, or exclude the device with NCCL_IB_HCA=^={}.",
                      give_node(seen), seen.uverbs.empty() ? "uverbs*" : seen.uverbs,
                      seen.bare_host ? " (its group, or a rule of udev)" : "", seen.device)};
}

Diagnosis diagnose(const NoneOpens& seen) {
  return {Cause::kDevUnusable,
          fmt::format("None of the {} HCAs can be opened: {} It is the same with the others.",
                      seen.count, diagnose(seen.first).sentence),
          std::string(give_node(seen.first)) + " /dev/infiniband."};
}

Diagnosis diagnose(const NoDevicePath& seen) {
  return {Cause::kDevNoPci,
          fmt::format("{} has no device path in sysfs, and NCCL {} crashes on such a device.",
                      seen.device, release(seen.nccl_version)),
          fmt::format("Exclude it with NCCL_IB_HCA=^={}, or mount /sys, or use NCCL 2.24 or newer.",
                      seen.device)};
}

Diagnosis diagnose(const BeyondLimit& seen) {
  return by_default(Cause::kDevLimit,
                    fmt::format("NCCL stops at {} devices, and leaves out {} and what follows.",
                                seen.limit, seen.device));
}

Diagnosis diagnose(const DeniedByName& seen) {
  return {Cause::kDevDenied,
          seen.device + (seen.not_allowed ? " is not among those that the policy allows."
                                          : " is denied by the policy."),
          ""};
}

Diagnosis diagnose(const OutsideSubnets& seen) {
  return {Cause::kDevDenied,
          fmt::format("{}: {} is in none of the policy's subnets.", seen.place, seen.address), ""};
}

Diagnosis diagnose(const NoLid& seen) {
  return by_default(Cause::kIbNoSm, seen.place + " is active and has no LID.");
}

Diagnosis diagnose(const LinkNotUp& seen) {
  return {Cause::kDevDown,
          fmt::format("{} is ACTIVE, and its physical state is {}: NCCL takes it.", seen.place,
                      seen.phys_state),
          kMendLink};
}

Diagnosis diagnose(const MissingPort& seen) {
  std::string what =
      fmt::format("{} is {} (physical state {})", seen.place, seen.state, seen.phys_state);
  if (!seen.gpu.empty())
    what += fmt::format(", and it is {} of GPU {}, where other GPUs have {}",
                        seen.usual == 1 ? "the rail" : "a rail", seen.gpu,
                        seen.usual == 1 ? "theirs" : std::to_string(seen.usual));
  else if (seen.gpus != 0)
    what += fmt::format(", and {} ports alike are left for {} GPUs", seen.others, seen.gpus);
  else
    what += fmt::format(" although {}, and NCCL skips it: {} port{} alike {} left",
                        seen.address.empty() ? "its link is up (no subnet manager?)"
                                             : "its interface has the address " + seen.address,
                        seen.others, seen.others == 1 ? "" : "s", seen.others == 1 ? "is" : "are");
  const bool of_gpus = !seen.gpu.empty() || seen.gpus != 0;
  return {Cause::kDevDown, what + (of_gpus ? ": " : ", ") + kRailShort + '.', kMendLink};
}

Diagnosis diagnose(const BelowMinimumSpeed& seen) {
  return {Cause::kDevSlow,
          fmt::format("{} runs at {} Mbit/s, the policy asks for {}.", seen.place, seen.mbps,
                      seen.minimum_mbps),
          ""};
}

Diagnosis diagnose(const BadPkey& seen) {
  return {Cause::kPkey,
          fmt::format("{}: the partition key at index {} is {}.", seen.place, seen.index,
                      seen.key == 0 ? "empty" : fmt::format("{:#06x}, a limited member", seen.key)),
          seen.full_index < 0 ? "Ask the subnet manager for full membership."
                              : fmt::format("NCCL_IB_PKEY={} (a full member of {:#06x}).",
                                            seen.full_index, seen.full_key)};
}

Diagnosis diagnose(const NoGpuDirect& seen) {
  std::string sentence =
      seen.wanted.empty()
          ? fmt::format("{}: no GPUDirect RDMA, GPU memory goes through the host: {}.", seen.place,
                        seen.why)
          : fmt::format("{}: the policy asks for GPUDirect by {}, and there is {}: {}.", seen.place,
                        seen.wanted, seen.way, seen.why);
  Diagnosis out = by_default(Cause::kGdrNoMod, std::move(sentence));
  if (seen.unseen_module)
    out.remedy =
        "Use NCCL 2.23 or newer, which sees the module, or the open GPU driver on kernel 5.12 or "
        "newer.";
  return out;
}

Diagnosis diagnose(const NoGid& seen) {
  return by_default(Cause::kGidCont,
                    fmt::format("{} has no GID here (0 of {}).", seen.place, seen.table_length));
}

Diagnosis diagnose(const UnreadableGid& seen) {
  const std::string what = fmt::format("{}: {}.", seen.place, seen.why);
  if (seen.by.empty()) return by_default(Cause::kGidCont, what);
  return {Cause::kGidWrong, what, "Unset " + seen.by + '.'};
}

Diagnosis diagnose(const ForeignGid& seen) {
  const std::string what = fmt::format(
      "{}: NCCL uses {}, the first address of {}, which is outside of {}, where the other "
      "HCAs are; {} is inside.",
      seen.place, seen.gid, seen.netdev, seen.plan, seen.good.text);
  return {Cause::kGidWrong, what,
          seen.by_index
              ? fmt::format("NCCL_IB_GID_INDEX={}, where every HCA has its own at that index; "
                            "or take the address off {}.",
                            seen.good.index, seen.netdev)
              : fmt::format("NCCL_IB_ADDR_RANGE={} on every node.", seen.plan)};
}

Diagnosis diagnose(const PickedGid& seen) {
  const std::string remedy = gid_remedy(seen);
  const auto cause = [&seen](Cause by_itself) {
    return seen.forced ? Cause::kGidWrong : by_itself;
  };
  switch (seen.fault) {
    case PickedGid::Fault::kLinkLocal:
      return {cause(Cause::kGidLinkLocal),
              fmt::format("{}: NCCL uses the link-local GID {} at index {} ({}).", seen.place,
                          seen.gid, seen.index, seen.why),
              remedy};
    case PickedGid::Fault::kRoceV1:
      return {cause(Cause::kGidV1),
              fmt::format("{}: NCCL uses the RoCE v1 GID {} at index {} ({}).", seen.place,
                          seen.gid, seen.index, seen.why),
              remedy};
    case PickedGid::Fault::kEmpty:
      break;
  }
  return {cause(Cause::kGidCont),
          fmt::format("{}: the GID at index {} is empty ({}).", seen.place, seen.index, seen.why),
          remedy};
}

std::size_t Unlike::kinds() const {
  return text().size() + (bonding == Bonding::kBond ? 1U : 0U) + (other_layer ? 1U : 0U);
}

std::vector<std::string> Unlike::text() const {
  std::vector<std::string> out;
  if (bonding == Bonding::kPlain) out.emplace_back("no bond, as the others are");
  if (mbps != 0)
    out.push_back(fmt::format("{} where most have {}", gbits(mbps), gbits(usual_mbps)));
  if (!default_route.empty()) out.emplace_back("the default route");
  if (!subnet.empty())
    out.push_back(fmt::format("subnet {} where the others are in {}", subnet, usual_subnet));
  if (!distance.empty())
    out.push_back(
        fmt::format("{} to the nearest GPU where the others have {}", distance, usual_distance));
  if (!card.empty()) out.push_back(fmt::format("on one card with {}", card));
  return out;
}

Diagnosis diagnose(const OddBond& seen) {
  std::string bond = fmt::format("{} is over the bond {}", seen.device, seen.bond);
  if (!seen.slaves.empty())
    bond += fmt::format(" ({}{}{})", fmt::join(seen.slaves, ", "), seen.trouble.empty() ? "" : ": ",
                        seen.trouble);
  if (seen.denied) return {Cause::kDevBond, bond + "; the policy denies bonds.", ""};
  return {Cause::kDevBond,
          fmt::format("{} and unlike the {} plain HCAs: {}. {}", bond, seen.unlike.fabric,
                      fmt::join(seen.unlike.text(), ", "),
                      seen.unlike.sure ? "It is probably the storage or front-end bond."
                                       : "Which of them are meant can't be told from here."),
          ""};
}

Diagnosis diagnose(const OutsideFabric& seen) {
  return {Cause::kDevMgmt,
          fmt::format("{} {} one of the {} compute HCAs: {}. {}", seen.place,
                      seen.unlike.sure ? "is not" : "may not be", seen.unlike.fabric,
                      fmt::join(seen.unlike.text(), ", "),
                      seen.unlike.sure ? fmt::format("It is probably the {} network's.", role(seen))
                                       : "Whether it is meant can't be told from here."),
          ""};
}

Diagnosis diagnose(const DefaultRoute& seen) {
  return {Cause::kDevMgmt,
          fmt::format("{} ({}) carries the default route by {}; {} other HCAs do not.", seen.place,
                      gbits(seen.mbps), seen.netdev, seen.others),
          ""};
}

Diagnosis diagnose(const OddLinkLayer& seen) {
  const std::string why =
      seen.wanted_by_policy
          ? std::string("the policy asks for ") + (seen.infiniband ? "RoCE" : "InfiniBand")
          : fmt::format("{} other port{} {}, and NCCL may pair them{}", seen.fabric,
                        seen.fabric == 1 ? " is" : "s are", seen.infiniband ? "RoCE" : "InfiniBand",
                        seen.sure ? "" : "; which of them are meant can't be told from here");
  return {Cause::kDevMixLl,
          fmt::format("{} is {}: {}.", seen.place, seen.infiniband ? "InfiniBand" : "RoCE", why),
          seen.sure ? "" : remedy_of(Cause::kDevMixLl)};
}

Diagnosis diagnose(const SlowerThanSiblings& seen) {
  return {Cause::kDevSlow,
          fmt::format("{} runs at {}, its siblings at {}{}{}.", seen.place, gbits(seen.mbps),
                      gbits(seen.median_mbps), seen.rail ? ": " : "", seen.rail ? kRailShort : ""),
          kMendLink};
}

Diagnosis diagnose(const SlowPcie& seen) {
  return {
      Cause::kDevSlow,
      fmt::format("{}: its PCIe link is {:g} GT/s x{} (at best {:g} GT/s x{}), its siblings' is "
                  "faster{}{}.",
                  seen.device, seen.gts, seen.width, seen.max_gts, seen.max_width,
                  seen.rail ? ": " : "", seen.rail ? kRailShort : ""),
      "Reseat the card, or look at the slot and the BIOS."};
}

Diagnosis diagnose(const SmallMtu& seen) {
  const std::string than = seen.minimum != 0
                               ? fmt::format("the policy asks for {}", seen.minimum)
                               : fmt::format("most of its siblings have {}", seen.usual);
  return {Cause::kMtuDiff, fmt::format("{} has an MTU of {}, {}.", seen.place, seen.mtu, than),
          seen.netdev.empty() ? "Raise the MTU of the port."
                              : fmt::format("Raise the MTU of {} and of the switch.", seen.netdev)};
}

Diagnosis diagnose(const VirtualBesidePhysical& seen) {
  using Meant = VirtualBesidePhysical::Meant;
  const bool one = seen.virtual_ones.size() == 1;
  const std::string virtual_ones = fmt::format("{}", fmt::join(seen.virtual_ones, ", "));
  const std::string physical = fmt::format("{}", fmt::join(seen.physical, ", "));
  const std::string what =
      one ? fmt::format("{} is a virtual function of {}", virtual_ones, physical)
          : fmt::format("{} are virtual functions of {}", virtual_ones, physical);
  switch (seen.meant) {
    case Meant::kPhysical:
      return {Cause::kDevMerge,
              fmt::format("{} without an address here, and NCCL would use {} beside {}.", what,
                          one ? "it" : "them", one ? "that" : "those"),
              ""};
    case Meant::kVirtual:
      return {
          Cause::kDevMerge,
          fmt::format("{} {} no address in this network namespace, and NCCL would use {} beside "
                      "{}, {}, which {}.",
                      physical, seen.physical.size() == 1 ? "has" : "have",
                      seen.physical.size() == 1 ? "it" : "them",
                      one ? "its virtual function" : "their virtual functions", virtual_ones,
                      one ? "has" : "have"),
          ""};
    case Meant::kNotKnown:
      break;
  }
  return {Cause::kDevMerge, what + ", and both are used: NCCL may fuse them.", ""};
}

}  // namespace nnd::diagnosis
