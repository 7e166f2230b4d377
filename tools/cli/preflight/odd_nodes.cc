#include "cli/preflight/odd_nodes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "cli/preflight/odd_words.h"
#include "cli/preflight/subnet_plan.h"
#include "log/natural_order.h"
#include "report/meaning.h"

namespace nnd::cli {

using nccl_net_diag::Cause;
using report::Deviation;

namespace {

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

std::set<std::string> names_in(const std::string& list) {
  std::set<std::string> out;
  for (std::size_t from = 0, to = 0; from < list.size(); from = to + 1) {
    to = std::min(list.find(',', from), list.size());
    out.insert(list.substr(from, to - from));
  }
  return out;
}

// The one HCA that a node has less than the others; empty: it is none, or several.
std::string only_missing(const Deviation& odd) {
  if (odd.others.size() + (odd.usual_count != 0 ? 1 : 0) != 2) return {};
  const auto guilty = report::guilty_camp(odd).value_or(0);
  const auto here = names_in(odd.others[guilty].value);
  const auto there = names_in(odd.usual_count != 0 ? odd.usual : odd.others[1 - guilty].value);
  std::vector<std::string> lacking;
  std::set_difference(there.begin(), there.end(), here.begin(), here.end(),
                      std::back_inserter(lacking));
  return lacking.size() == 1 && here.size() + 1 == there.size() ? lacking.front() : std::string();
}

class Comparison {
 public:
  explicit Comparison(const std::vector<Node>& nodes) : nodes_(nodes) {}

  std::vector<Finding> findings() {
    auto all = report::deviations_of_each(picture_of(nodes_));
    std::stable_sort(all.begin(), all.end(), [](const Deviation& a, const Deviation& b) {
      return rank_of(a) < rank_of(b);
    });
    for (const Deviation& odd : all) note_setting(odd);
    const SubnetPlan plan(nodes_, all);
    std::vector<Finding> out;
    add_without_hcas(out);
    for (const Deviation& odd : all)
      if (!follows(odd, plan)) {
        out.push_back(finding_of(odd));
        note(odd, out.back());
      }
    join_devices(out);
    return out;
  }

 private:
  static std::size_t rank_of(const Deviation& odd) {
    constexpr std::size_t kLast = 1000;
    const auto meaning = report::meaning_of(odd.what);
    return meaning ? meaning->rank : odd.serious ? kLast : kLast + 1;
  }

  // Those that are at fault.
  static std::vector<std::string> hosts_of(const Deviation& odd) {
    std::vector<std::string> out;
    const bool all = odd.usual_count != 0 || is_tie(odd);
    for (std::size_t i = 0; i < odd.others.size(); ++i)
      if (all || i == report::guilty_camp(odd))
        out.insert(out.end(), odd.others[i].who.begin(), odd.others[i].who.end());
    std::sort(out.begin(), out.end(), log::natural_less);
    return out;
  }

  // By settings nodes come to other HCAs and other GIDs.
  void note_setting(const Deviation& odd) {
    const auto meaning = report::meaning_of(odd.what);
    if (!meaning || !meaning->cause || !odd.what.starts_with("NCCL_")) return;
    const bool turns_off = odd.what == "NCCL_IB_DISABLE";
    for (const auto& host : hosts_of(odd)) {
      if (*meaning->cause == Cause::kIncNDevs || turns_off) other_hcas_.insert(host);
      if (*meaning->cause == Cause::kGidDiff) other_gids_.insert(host);
    }
  }
  // Each of these nodes is told of by what it follows from: a setting, or the same HCA.
  bool follows(const Deviation& odd, const SubnetPlan& plan) const {
    const auto device = report::device_of(odd.what);
    const bool of_subnet = odd.what.starts_with(kSubnetOf);
    const bool of_gid = of_subnet || odd.what.starts_with("GID ");
    const auto hosts = hosts_of(odd);
    if (of_subnet && plan.may_mean(odd)) return true;
    const auto told = [&](const std::string& host) { return told_.contains({host, device}); };
    if (!device.empty() && is_tie(odd) && std::any_of(hosts.begin(), hosts.end(), told))
      return true;
    return std::all_of(hosts.begin(), hosts.end(), [&](const std::string& host) {
      if (odd.what == kInUse) return other_hcas_.contains(host);
      if (of_subnet && plan.is_elsewhere(host)) return true;
      if (of_gid && other_gids_.contains(host)) return true;
      return !device.empty() && told(host);
    });
  }
  void note(const Deviation& odd, const Finding& finding) {
    if (finding.weight == Weight::kNote) return;
    for (const auto& host : finding.hosts) {
      if (!finding.device.empty()) told_.emplace(host, finding.device);
      if (odd.what.starts_with(kStateOf)) other_hcas_.insert(host);
    }
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

  Finding finding_of(const Deviation& odd) const {
    Finding out;
    out.hosts = hosts_of(odd);
    out.device = odd.what == kInUse ? only_missing(odd) : report::device_of(odd.what);
    out.weight = weight_of(odd);
    out.cause = cause_of(odd);
    out.text = odd_text(nodes_, odd);
    out.remedy = odd_remedy(nodes_, odd, out);
    return out;
  }

  static Weight weight_of(const Deviation& odd) {
    const bool setting = is_variable(odd);
    if (!odd.serious) return Weight::kNote;
    if (is_tie(odd)) return is_two_kinds(odd) && !setting ? Weight::kNote : Weight::kMend;
    return setting ? Weight::kMend : Weight::kLeaveOut;
  }

  bool is_infiniband(const Deviation& odd) const {
    const auto* const hca =
        hca_of(nodes_[odd.others.front().members.front()], report::device_of(odd.what));
    return hca != nullptr && hca->dev.link_layer == "InfiniBand";
  }

  std::string cause_of(const Deviation& odd) const {
    const auto id = [](Cause cause) { return std::string(nccl_net_diag::cause_id(cause)); };
    if (odd.what.starts_with(kStateOf))
      return id(odd.others.front().value == "unreadable" ? Cause::kDevUnusable : Cause::kDevDown);
    if (odd.what.starts_with(kSubnetOf))
      return id(odd.others.front().value.ends_with("::/64") && is_infiniband(odd)
                    ? Cause::kIbFlid
                    : Cause::kSubRail);
    if (odd.what.starts_with(kGdrOf)) return id(Cause::kGdrNoMod);
    if (odd.what == kMemlock) return id(Cause::kLimMemlock);
    const auto meaning = report::meaning_of(odd.what);
    return meaning && meaning->cause ? id(*meaning->cause) : std::string();
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
        const auto told = one.device.size();
        std::sort(names.begin(), names.end(), log::natural_less);
        one.device = names.front();
        one.text.replace(where, told,
                         fmt::format("{} (and likewise {})", one.device,
                                     fmt::join(names.begin() + 1, names.end(), ", ")));
      }
    all = std::move(out);
  }

  const std::vector<Node>& nodes_;
  std::set<std::pair<std::string, std::string>> told_;  // host, HCA
  std::set<std::string> other_hcas_, other_gids_;       // hosts that come to such by what is told
};

}  // namespace

std::vector<Finding> odd_nodes(const std::vector<Node>& nodes) {
  return Comparison(nodes).findings();
}

}  // namespace nnd::cli
