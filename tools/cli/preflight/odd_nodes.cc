#include "cli/preflight/odd_nodes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "cli/common/gid_text.h"
#include "log/natural_order.h"
#include "report/meaning.h"

namespace nnd::cli {

using nccl_net_diag::Cause;
using report::Odd;

namespace {

constexpr std::string_view kState = "state of ", kSubnet = "subnet of ", kSpeed = "Mbit/s of ",
                           kGdr = "GPUDirect RDMA of ", kMemlock = "limit on locked memory",
                           kInUse = "HCAs in use";

report::Picture picture_of(const std::vector<Node>& nodes) {
  report::Picture out;
  for (const Node& node : nodes) {
    report::Member member;
    member.log = &node.process;
    member.host = out.hosts.size();
    report::Host host;
    host.name = node.host();
    host.members = {out.members.size()};
    out.members.push_back(std::move(member));
    out.hosts.push_back(std::move(host));
  }
  return out;
}

const log::Hca* hca_of(const Node& node, const std::string& device) {
  for (const auto& hca : node.process.hcas)
    if (hca.dev.name == device) return &hca;
  return nullptr;
}

std::string value_text(const Odd& odd, const std::string& value) {
  if (odd.what.starts_with(kSpeed) && !value.empty())
    return fmt::format("{:g} Gbit/s", std::strtod(value.c_str(), nullptr) / 1000);
  constexpr std::size_t kLongest = 120;
  if (value.empty()) return "not known";
  return value.size() <= kLongest ? value : value.substr(0, kLongest) + "...";
}

// "mlx5_0 runs at", "NCCL_IB_TC is".
std::string subject_of(const Odd& odd) {
  const auto device = report::device_of(odd.what);
  if (odd.what.starts_with(kSpeed)) return device + " runs at";
  if (odd.what.starts_with(kState)) return device + " is";
  if (odd.what == kInUse) return "The HCAs that NCCL takes are";
  return (odd.what.starts_with("NCCL") || odd.what.starts_with("UCX") ? odd.what
                                                                      : "The " + odd.what) +
         " is";
}

std::string nodes_text(std::size_t count) {
  return count == 1 ? "the other node" : fmt::format("the other {} nodes", count);
}

// Two camps as big, of several nodes each: perhaps they are meant to be so.
bool is_two_kinds(const Odd& odd) {
  return odd.usual_count == 0 &&
         std::all_of(odd.others.begin(), odd.others.end(),
                     [](const Odd::Differing& one) { return one.who.size() > 1; });
}

// Two camps as big, where nothing says which is at fault.
bool is_tie(const Odd& odd) {
  return odd.usual_count == 0 && (is_two_kinds(odd) || !report::guilty_camp(odd));
}

class Comparison {
 public:
  explicit Comparison(const std::vector<Node>& nodes) : nodes_(nodes) {}

  std::vector<Finding> findings() {
    auto all = report::odd_of_each(picture_of(nodes_));
    std::stable_sort(all.begin(), all.end(),
                     [](const Odd& a, const Odd& b) { return rank_of(a) < rank_of(b); });
    for (const Odd& odd : all) note_setting(odd);
    find_elsewhere(all);
    std::vector<Finding> out;
    add_without_hcas(out);
    for (const Odd& odd : all)
      if (!follows(odd)) {
        out.push_back(finding_of(odd));
        note(odd, out.back());
      }
    join_devices(out);
    return out;
  }

 private:
  static std::size_t rank_of(const Odd& odd) {
    constexpr std::size_t kLast = 1000;
    const auto meaning = report::meaning_of(odd.what);
    return meaning ? meaning->rank : odd.serious ? kLast : kLast + 1;
  }

  // Those that are at fault.
  static std::vector<std::string> hosts_of(const Odd& odd) {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < odd.others.size(); ++i)
      if (odd.usual_count != 0 || is_tie(odd) || i == report::guilty_camp(odd))
        out.insert(out.end(), odd.others[i].who.begin(), odd.others[i].who.end());
    std::sort(out.begin(), out.end(), log::natural_less);
    return out;
  }

  // By settings nodes come to other HCAs and other GIDs.
  void note_setting(const Odd& odd) {
    const auto meaning = report::meaning_of(odd.what);
    if (!meaning || !meaning->cause || !odd.what.starts_with("NCCL_")) return;
    const bool turns_off = odd.what == "NCCL_IB_DISABLE";
    for (const auto& host : hosts_of(odd)) {
      if (*meaning->cause == Cause::kIncNDevs || turns_off) other_hcas_.insert(host);
      if (*meaning->cause == Cause::kGidDiff) other_gids_.insert(host);
    }
  }
  // Each of these nodes is told of by what it follows from: a setting, or the same HCA.
  bool follows(const Odd& odd) const {
    const auto device = report::device_of(odd.what);
    const bool of_gid = odd.what.starts_with("GID ") || odd.what.starts_with(kSubnet);
    const auto hosts = hosts_of(odd);
    if (odd.what.starts_with(kSubnet) && may_be_planned(odd)) return true;
    const auto told = [&](const std::string& host) { return told_.contains({host, device}); };
    if (!device.empty() && is_tie(odd) && std::any_of(hosts.begin(), hosts.end(), told))
      return true;
    return std::all_of(hosts.begin(), hosts.end(), [&](const std::string& host) {
      if (odd.what == kInUse) return other_hcas_.contains(host);
      if (odd.what.starts_with(kSubnet) && elsewhere_.contains(host)) return true;
      if (of_gid && other_gids_.contains(host)) return true;
      return !device.empty() && told(host);
    });
  }
  void note(const Odd& odd, const Finding& finding) {
    if (finding.weight == Weight::kNote) return;
    for (const auto& host : finding.hosts) {
      if (!finding.device.empty()) told_.emplace(host, finding.device);
      if (odd.what.starts_with(kState)) other_hcas_.insert(host);
    }
  }

  // A node of which most rails are in other subnets than other nodes' is behind other switches, and
  // meant to be so; but for one whose rails are only swapped.
  void find_elsewhere(const std::vector<Odd>& all) {
    std::map<std::string, std::set<std::string>> own, others;  // by host: subnets
    for (const Odd& odd : all) {
      if (!odd.what.starts_with(kSubnet)) continue;
      for (const auto& one : odd.others)
        for (const auto& host : one.who) {
          own[host].insert(one.value);
          if (odd.usual_count != 0) others[host].insert(odd.usual);
          for (const auto& other : odd.others)
            if (&other != &one) others[host].insert(other.value);
        }
    }
    for (const Node& node : nodes_) {
      const auto& differ = own[node.host()];
      std::set<std::string> all_of_it;
      for (const auto& hca : node.process.hcas)
        if (!hca.dev.subnet.empty()) all_of_it.insert(hca.dev.subnet);
      const bool swapped = std::all_of(differ.begin(), differ.end(), [&](const auto& one) {
        return others[node.host()].contains(one);
      });
      if (differ.size() > 1 && !swapped && 2 * differ.size() > all_of_it.size())
        elsewhere_.insert(node.host());
    }
  }
  // Small networks as big as each other may be one for each node, or each rack.
  bool may_be_planned(const Odd& odd) const {
    if (odd.usual_count != 0) return false;
    // Another HCA of the other is in it: they are numbered, cabled or addressed otherwise.
    for (const auto& one : odd.others)
      for (const auto& other : odd.others)
        if (&one != &other && has_subnet(other.members.front(), one.value)) return false;
    const auto length = [](const std::string& subnet) {
      return subnet.substr(std::min(subnet.find('/'), subnet.size()));
    };
    const auto first = length(odd.others.front().value);
    const bool alike = std::all_of(odd.others.begin(), odd.others.end(),
                                   [&](const auto& one) { return length(one.value) == first; });
    constexpr int kSmall = 24;
    return alike && (is_two_kinds(odd) || std::atoi(first.c_str() + !first.empty()) >= kSmall);
  }

  bool has_subnet(std::size_t node, const std::string& subnet) const {
    const auto& hcas = nodes_[node].process.hcas;
    return std::any_of(hcas.begin(), hcas.end(),
                       [&](const log::Hca& hca) { return hca.dev.subnet == subnet; });
  }

  void add_without_hcas(std::vector<Finding>& out) {
    std::size_t most = 0, having = 0;
    for (const Node& node : nodes_) {
      most = std::max(most, node.process.hcas.size());
      having += !node.process.hcas.empty();
    }
    for (const Node& node : nodes_) {
      if (!node.process.hcas.empty() || having * 2 < nodes_.size()) continue;
      Finding one;
      one.weight = Weight::kLeaveOut;
      one.hosts = {node.host()};
      one.cause = nccl_net_diag::cause_id(Cause::kIncNDevs);
      one.text = fmt::format("{} has no HCA, and other nodes have up to {}.", node.host(), most);
      one.remedy = fmt::format("Run nccl-net-diag check on {}.", node.host());
      out.push_back(std::move(one));
    }
  }

  Finding finding_of(const Odd& odd) const {
    Finding out;
    out.hosts = hosts_of(odd);
    out.device = odd.what == kInUse ? only_missing(odd) : report::device_of(odd.what);
    out.weight = weight_of(odd);
    out.cause = cause_of(odd);
    out.text = text_of(odd);
    out.remedy = remedy_of(odd, out);
    return out;
  }

  static Weight weight_of(const Odd& odd) {
    const bool setting = odd.what.starts_with("NCCL") || odd.what.starts_with("UCX");
    if (!odd.serious) return Weight::kNote;
    if (is_tie(odd)) return is_two_kinds(odd) && !setting ? Weight::kNote : Weight::kMend;
    return setting ? Weight::kMend : Weight::kLeaveOut;
  }

  std::string cause_of(const Odd& odd) const {
    const auto id = [](Cause cause) { return std::string(nccl_net_diag::cause_id(cause)); };
    if (odd.what.starts_with(kState))
      return id(odd.others.front().value == "unreadable" ? Cause::kDevUnusable : Cause::kDevDown);
    if (odd.what.starts_with(kSubnet))
      return id(odd.others.front().value.ends_with("::/64") && is_infiniband(odd)
                    ? Cause::kIbFlid
                    : Cause::kSubRail);
    if (odd.what.starts_with(kGdr)) return id(Cause::kGdrNoMod);
    if (odd.what == kMemlock) return id(Cause::kLimMemlock);
    const auto meaning = report::meaning_of(odd.what);
    return meaning && meaning->cause ? id(*meaning->cause) : std::string();
  }

  std::string text_of(const Odd& odd) const {
    if (odd.what.starts_with(kSubnet)) return subnet_text(odd);
    if (odd.what.starts_with("GID ") && odd.what.find(" of ") != std::string::npos)
      return gid_text(odd);
    std::vector<std::string> parts;
    for (const auto& one : odd.others)
      parts.push_back(
          fmt::format("{} on {}", value_text(odd, one.value), fmt::join(one.who, ", ")));
    if (odd.usual_count != 0)
      parts.push_back(
          fmt::format("{} on {}", value_text(odd, odd.usual), nodes_text(odd.usual_count)));
    return fmt::format("{} {}{}.", subject_of(odd), fmt::join(parts, ", and "), doubt_of(odd));
  }

  bool is_infiniband(const Odd& odd) const {
    const auto* const hca =
        hca_of(nodes_[odd.others.front().members.front()], report::device_of(odd.what));
    return hca != nullptr && hca->dev.link_layer == "InfiniBand";
  }

  // The one HCA that a node has less than the others; empty: it is none, or several.
  static std::string only_missing(const Odd& odd) {
    if (odd.others.size() + (odd.usual_count != 0 ? 1 : 0) != 2) return {};
    const auto guilty = report::guilty_camp(odd).value_or(0);
    const auto here = names_in(odd.others[guilty].value);
    const auto there = names_in(odd.usual_count != 0 ? odd.usual : odd.others[1 - guilty].value);
    std::vector<std::string> lacking;
    std::set_difference(there.begin(), there.end(), here.begin(), here.end(),
                        std::back_inserter(lacking));
    return lacking.size() == 1 && here.size() + 1 == there.size() ? lacking.front() : std::string();
  }
  static std::set<std::string> names_in(const std::string& list) {
    std::set<std::string> out;
    for (std::size_t from = 0, to = 0; from < list.size(); from = to + 1) {
      to = std::min(list.find(',', from), list.size());
      out.insert(list.substr(from, to - from));
    }
    return out;
  }

  // Of which kind a GID is, and with `whole` which one.
  static std::string gid_of(const log::Hca* hca, bool whole) {
    if (hca == nullptr || !hca->dev.gid_index || hca->dev.gid.empty()) return "no GID";
    std::string kind = hca->gid_type;
    if (hca->dev.gid.starts_with("fe80:") && hca->dev.link_layer != "InfiniBand")
      kind += ", link-local";
    if (!hca->dev.subnet.empty()) kind += fmt::format(", subnet {}", hca->dev.subnet);
    return fmt::format("{}{} at index {}", whole ? without_mapping(hca->dev.gid) + ", " : "", kind,
                       *hca->dev.gid_index);
  }

  std::string gid_text(const Odd& odd) const {
    const auto device = report::device_of(odd.what);
    std::set<std::string> told;
    std::vector<std::string> parts;
    for (const auto& one : odd.others) {
      told.insert(one.who.begin(), one.who.end());
      parts.push_back(fmt::format("{} on {}",
                                  gid_of(hca_of(nodes_[one.members.front()], device), true),
                                  fmt::join(one.who, ", ")));
    }
    const auto other = std::find_if(nodes_.begin(), nodes_.end(), [&](const Node& node) {
      return !told.contains(node.host()) && hca_of(node, device) != nullptr;
    });
    if (odd.usual_count != 0 && other != nodes_.end())
      parts.push_back(fmt::format("{} on {}", gid_of(hca_of(*other, device), false),
                                  nodes_text(odd.usual_count)));
    return fmt::format("NCCL will use for {} {}{}.", device, fmt::join(parts, ", and "),
                       doubt_of(odd));
  }

  std::string subnet_text(const Odd& odd) const {
    const auto device = report::device_of(odd.what);
    std::vector<std::string> parts;
    for (const auto& one : odd.others) {
      const auto* const hca = hca_of(nodes_[one.members.front()], device);
      const auto netdev = hca != nullptr ? hca->dev.netdev : std::string();
      parts.push_back(
          fmt::format("{}{} of {} has {} in {}", device, netdev.empty() ? "" : " (" + netdev + ")",
                      fmt::join(one.who, ", "),
                      hca != nullptr ? without_mapping(hca->dev.gid) : "no address", one.value));
    }
    if (odd.usual_count != 0)
      parts.push_back(fmt::format("{} in {}",
                                  odd.usual_count == 1
                                      ? "that of the other node is"
                                      : fmt::format("those of {} are", nodes_text(odd.usual_count)),
                                  odd.usual));
    return fmt::format("{}{}.", fmt::join(parts, ", "), doubt_of(odd));
  }

  static std::string doubt_of(const Odd& odd) {
    if (!is_tie(odd)) return "";
    return is_two_kinds(odd) ? " (two kinds of nodes, as many of each)"
                             : " (which of the two is wrong can't be told from two)";
  }

  // What the node's own rules say of the same HCA and the same cause knows more than comparison.
  std::string remedy_of(const Odd& odd, const Finding& finding) const {
    for (const Node& node : nodes_) {
      if (std::find(finding.hosts.begin(), finding.hosts.end(), node.host()) == finding.hosts.end())
        continue;
      for (const NodeVerdict& verdict : node.verdicts)
        if (verdict.cause == finding.cause && verdict.device == finding.device &&
            !finding.device.empty() && !verdict.remedy.empty())
          return verdict.remedy;
    }
    const std::string hosts = fmt::format("{}", fmt::join(finding.hosts, ", "));
    if (odd.what.starts_with(kSubnet))
      return fmt::format("Correct the address or the mask of {} on {}.", finding.device, hosts);
    if (odd.what.starts_with("NCCL_") || odd.what.starts_with("UCX_"))
      return fmt::format("Give all nodes the same {} (the launcher must pass it on), or unset it.",
                         odd.what);
    if (odd.what == "NCCL")
      return "Give all nodes the same NCCL: look at LD_LIBRARY_PATH and at what the framework "
             "brings.";
    if (!odd.serious) return "Make it the same on all nodes when there is time.";
    return fmt::format("Repair it on {}.", hosts);
  }

  // "mlx5_0, mlx5_1 of node3": what is the same of several HCAs is one finding.
  static void join_devices(std::vector<Finding>& all) {
    std::vector<Finding> out;
    std::map<std::pair<std::string, std::vector<std::string>>, std::size_t> place;
    std::map<std::size_t, std::vector<std::string>> devices;
    for (Finding& one : all) {
      std::string form = one.text;
      if (!one.device.empty())
        if (const auto at = form.find(one.device); at != std::string::npos)
          form.replace(at, one.device.size(), "*");
      const auto [found, is_new] = place.emplace(std::pair(form, one.hosts), out.size());
      if (!one.device.empty()) devices[found->second].push_back(one.device);
      if (is_new) out.push_back(std::move(one));
    }
    for (auto& [at, names] : devices)
      if (names.size() > 1) {
        Finding& one = out[at];
        const auto where = one.text.find(one.device);
        one.text.replace(where, one.device.size(),
                         fmt::format("{} (and likewise {})", one.device,
                                     fmt::join(names.begin() + 1, names.end(), ", ")));
      }
    all = std::move(out);
  }

  const std::vector<Node>& nodes_;
  std::set<std::pair<std::string, std::string>> told_;  // host, HCA
  std::set<std::string> elsewhere_;                     // hosts behind other switches
  std::set<std::string> other_hcas_, other_gids_;       // hosts that come to such by what is told
};

}  // namespace

std::vector<Finding> odd_nodes(const std::vector<Node>& nodes) {
  return Comparison(nodes).findings();
}

}  // namespace nnd::cli
