#include "cli/report/difference_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cli/common/gid_text.h"
#include "cli/report/names.h"

namespace nnd::cli {

using report::Deviation;
using report::Difference;
using report::Report;

namespace {

constexpr std::string_view kSubnet = "subnet of ";

std::string device_of(const std::string& what) {
  const auto of = what.find(" of ");
  return of == std::string::npos ? std::string() : what.substr(of + 4);
}

// "10.200.1.3", of a process's HCA; empty: not known.
std::string address_of(const Report& report, std::size_t member, const std::string& device) {
  for (const auto& hca : report.picture.members[member].log->hcas)
    if (hca.dev.name == device && !hca.dev.gid.empty()) return without_mapping(hca.dev.gid);
  return {};
}

std::string interface_of(const Report& report, std::size_t member, const std::string& device) {
  for (const auto& hca : report.picture.members[member].log->hcas)
    if (hca.dev.name == device && !hca.dev.netdev.empty()) return " (" + hca.dev.netdev + ")";
  return {};
}

std::string where_of(const Deviation::Differing& one) { return list(one.who); }

// Of one camp: whose HCA, which address, which subnet.
std::string subnet_of(const Report& report, const std::string& device,
                      const Deviation::Differing& one) {
  const auto member = one.members.front();
  const auto address = address_of(report, member, device);
  return fmt::format("{}{} of {} {} the subnet {}", device, interface_of(report, member, device),
                     where_of(one),
                     address.empty() ? "is in" : "has the address " + address + " in", one.value);
}

std::string others_text(std::size_t count) {
  return count == 1 ? "process" : count_of(count, "process", "processes");
}

std::string subnets(const Report& report, const Deviation& odd) {
  const std::string device = device_of(odd.what);
  if (odd.usual_count != 0)
    return fmt::format(
        "{}, {} of the other {} in {}", subnet_of(report, device, odd.others.front()),
        odd.usual_count == 1 ? "that" : "those", others_text(odd.usual_count), odd.usual);
  return fmt::format("{}, {}", subnet_of(report, device, odd.others.front()),
                     subnet_of(report, device, odd.others.back()));
}

// `guilty`: who of two camps as big is at fault.
std::string plain(const Deviation& odd, std::optional<std::size_t> guilty) {
  const auto& one = odd.others[guilty.value_or(0)];
  const auto* const is = odd.what == "HCAs in use" ? "are" : "is";
  const auto rest = [&](const std::string& value, std::size_t count) {
    return fmt::format("{} {} {} on {}, and {} on the other {}", odd.what, is, shortened(one.value),
                       where_of(one), shortened(value), others_text(count));
  };
  if (odd.usual_count != 0) return rest(odd.usual, odd.usual_count);
  const auto& other = odd.others[1 - guilty.value_or(0)];
  if (guilty) return rest(other.value, other.members.size());
  return fmt::format("{} {} {} on {}, and {} on {}", odd.what, is, shortened(one.value),
                     where_of(one), shortened(other.value), where_of(other));
}

bool is_tie(const Deviation& odd, const Difference& difference) {
  return odd.usual_count == 0 && odd.others.size() == 2 && !difference.guilty;
}

std::string whose_of(const Deviation& odd, const Difference& difference) {
  if (is_tie(odd, difference))
    return fmt::format("{} or {}", where_of(odd.others.front()), where_of(odd.others.back()));
  return where_of(odd.others[difference.guilty.value_or(0)]);
}

struct Behind {
  std::string_view what;  // how Deviation::what begins
  std::array<std::string_view, 4> variables;
};
constexpr std::array kBehind{
    Behind{"transport", {"NCCL_IB_DISABLE", "NCCL_NET", "NCCL_IB_HCA", "NCCL_NET_PLUGIN"}},
    Behind{"HCAs in use",
           {"NCCL_IB_HCA", "NCCL_IB_DISABLE", "NCCL_IB_MERGE_NICS", "NCCL_IB_MERGE_VFS"}},
    Behind{"GID ",
           {"NCCL_IB_GID_INDEX", "NCCL_IB_ROCE_VERSION_NUM", "NCCL_IB_ADDR_FAMILY",
            "NCCL_IB_ADDR_RANGE"}}};

// A variable that the same processes have otherwise, and that decides of what differs.
const Deviation* setting_behind(const Report& report, const Deviation& odd,
                                const Difference& difference) {
  const auto& members = odd.others[difference.guilty.value_or(0)].members;
  const auto sets_so = [&](const Deviation& setting) {
    return std::any_of(setting.others.begin(), setting.others.end(),
                       [&](const auto& one) { return one.members == members; });
  };
  for (const Behind& behind : kBehind) {
    if (!odd.what.starts_with(behind.what)) continue;
    for (const std::string_view variable : behind.variables)
      for (const Deviation& setting : report.odd)
        if (setting.what == variable && sets_so(setting)) return &setting;
  }
  return nullptr;
}

}  // namespace

std::string difference_text(const Report& report, const Difference& difference) {
  const Deviation& odd = report.odd[difference.odd];
  std::string out =
      odd.what.starts_with(kSubnet) ? subnets(report, odd) : plain(odd, difference.guilty);
  if (difference.swapped)
    out = fmt::format("{} and {} of {} have each other's network, they are swapped: {}",
                      device_of(odd.what), *difference.swapped, whose_of(odd, difference), out);
  if (!is_tie(odd, difference)) return out;
  const Deviation* const setting = setting_behind(report, odd, difference);
  return out + (setting != nullptr ? ", since " + plain(*setting, {})
                                   : " (which of the two is wrong can't be told from two)");
}

std::string odd_text(const Deviation& odd) { return plain(odd, {}); }

std::string difference_remedy(const Report& report, const Difference& difference) {
  const Deviation& odd = report.odd[difference.odd];
  if (const Deviation* const setting = setting_behind(report, odd, difference))
    return fmt::format("{}: give all ranks the same (the launcher must pass it on), or unset it.",
                       plain(*setting, {}));
  if (difference.told != nullptr && !difference.told->fix.empty()) return difference.told->fix;
  const auto device = device_of(odd.what);
  const auto whose = whose_of(odd, difference);
  if (difference.swapped)
    return fmt::format(
        "Swap the addresses of {} and {} on {}, or their two cables, so that HCAs of one name are "
        "in one network on all nodes.",
        device, *difference.swapped, whose);
  if (odd.what.starts_with(kSubnet))
    return fmt::format(
        "Correct the address or the mask of {} on {}; until then leave {} out on all nodes "
        "(NCCL_IB_HCA=^={}).",
        device, whose, device, device);
  if (odd.what == "transport")
    return fmt::format(
        "Find out why NCCL found no HCA on {} (nccl-net-diag check there): ranks on TCP and ranks "
        "on HCAs wait for each other for ever.",
        whose);
  if (odd.what == "HCAs in use" || odd.what.starts_with("state of ") ||
      odd.what.starts_with("Mbit/s of ") || odd.what.starts_with("PCIe link of "))
    return fmt::format(
        "Repair it on {}; until then leave {} out on all nodes (NCCL_IB_HCA=^={}): NCCL joins HCAs "
        "by their order and speed.",
        whose, device.empty() ? "that HCA" : device, device.empty() ? "..." : device);
  if (odd.what == "NCCL")
    return "Give all nodes the same NCCL: look at LD_LIBRARY_PATH and at what the framework "
           "brings.";
  if (odd.what.starts_with("NCCL_"))
    return fmt::format("Give all ranks the same {} (the launcher must pass it on), or unset it.",
                       odd.what);
  return fmt::format("Make it the same on all nodes; {} differs.", whose);
}

}  // namespace nnd::cli
