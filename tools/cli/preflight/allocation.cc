#include "cli/preflight/allocation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "cli/preflight/odd_nodes.h"
#include "cli/preflight/talk.h"
#include "log/natural_order.h"
#include "nccl_net_diag/causes.h"

namespace nnd::cli {

namespace {

using Told = std::set<std::pair<std::string, std::string>>;  // host, HCA

Told told_of(const std::vector<Finding>& findings) {
  Told out;
  for (const Finding& one : findings)
    for (const auto& host : one.hosts)
      if (one.weight != Weight::kNote) out.emplace(host, one.device);
  return out;
}

bool is_left_out(const std::vector<Finding>& findings, const std::string& host) {
  return std::any_of(findings.begin(), findings.end(), [&](const Finding& one) {
    return one.weight == Weight::kLeaveOut &&
           std::find(one.hosts.begin(), one.hosts.end(), host) != one.hosts.end();
  });
}

// What fails a job there whoever else takes part, where nothing tells more.
void add_broken(const std::vector<Node>& nodes, std::vector<Finding>& out) {
  for (const Node& node : nodes) {
    if (is_left_out(out, node.host())) continue;
    for (const auto& sentence : node.broken)
      out.push_back({Weight::kLeaveOut,
                     {node.host()},
                     "",
                     "",
                     fmt::format("{}: {}", node.host(), sentence),
                     fmt::format("Run nccl-net-diag check on {}.", node.host())});
  }
}

using nccl_net_diag::Cause;

// What keeps an HCA from its work, or slows all that wait for it.
constexpr std::array kSick{Cause::kDevDown, Cause::kDevUnusable, Cause::kDevSlow, Cause::kIbNoSm,
                           Cause::kMtuDiff};
// The same, of which a variable may be why: that is told where it differs.
constexpr std::array kSickOrSet{Cause::kGidWrong, Cause::kGidCont, Cause::kGidLinkLocal,
                                Cause::kGidV1, Cause::kPkey};

template <typename Causes>
bool is_one_of(const Causes& causes, const NodeVerdict& verdict) {
  const auto cause = nccl_net_diag::find_cause(verdict.cause);
  return cause && std::find(causes.begin(), causes.end(), *cause) != causes.end();
}

// What the rules of a few nodes say, and those of most don't.
void add_rare_verdicts(const std::vector<Node>& nodes, const Told& told,
                       std::vector<Finding>& out) {
  std::map<std::pair<std::string, std::string>, std::vector<std::pair<std::string, NodeVerdict>>>
      by_rule;  // rule and HCA
  for (const Node& node : nodes)
    for (const NodeVerdict& verdict : node.verdicts)
      if (verdict.decision != "info")
        by_rule[{verdict.rule, verdict.device}].emplace_back(node.host(), verdict);
  for (const auto& [rule, said] : by_rule) {
    if (said.size() * 3 > nodes.size()) continue;
    for (const auto& [host, verdict] : said)
      if (!told.contains({host, verdict.device}) &&
          !(told.contains({host, ""}) && is_one_of(kSickOrSet, verdict)))
        out.push_back({is_one_of(kSick, verdict) || is_one_of(kSickOrSet, verdict)
                           ? Weight::kLeaveOut
                           : Weight::kNote,
                       {host},
                       verdict.device,
                       verdict.cause,
                       fmt::format("{}: {}", host, verdict.fact),
                       verdict.remedy});
  }
}

// Those that only repeat what is known of the same HCA of the same node.
void add_silent(const std::vector<PairResult>& pairs, const Told& told, std::vector<Finding>& out) {
  for (Finding& one : silent_hcas(pairs))
    if (std::none_of(one.hosts.begin(), one.hosts.end(), [&](const std::string& host) {
          return told.contains({host, one.device});
        }))
      out.push_back(std::move(one));
}

// Nothing where the nodes that stay propose different lines.
std::vector<std::string> environment_of(const std::vector<Node>& nodes,
                                        const std::vector<std::string>& left_out) {
  const std::vector<std::string>* first = nullptr;
  for (const Node& node : nodes) {
    if (std::find(left_out.begin(), left_out.end(), node.host()) != left_out.end()) continue;
    if (first == nullptr) first = &node.proposal;
    if (*first != node.proposal) return {};
  }
  return first == nullptr ? std::vector<std::string>() : *first;
}

}  // namespace

const char* text_of(Weight weight) {
  switch (weight) {
    case Weight::kLeaveOut:
      return "leave out";
    case Weight::kMend:
      return "mend";
    case Weight::kNote:
      break;
  }
  return "note";
}

bool Allocation::go() const {
  return std::all_of(findings.begin(), findings.end(),
                     [](const Finding& one) { return one.weight == Weight::kNote; });
}

void Allocation::add(Finding finding) {
  const auto behind =
      std::upper_bound(findings.begin(), findings.end(), finding,
                       [](const Finding& a, const Finding& b) { return a.weight < b.weight; });
  findings.insert(behind, std::move(finding));
}

Allocation allocation_of(std::vector<Node> nodes, const std::vector<PairResult>& pairs,
                         std::vector<Finding> known) {
  Allocation out;
  out.findings = std::move(known);
  std::sort(nodes.begin(), nodes.end(),
            [](const Node& a, const Node& b) { return log::natural_less(a.host(), b.host()); });
  for (const Node& node : nodes) out.hosts.push_back(node.host());
  for (const Finding& one : out.findings)  // also those of which nothing else is known
    for (const auto& host : one.hosts)
      if (std::find(out.hosts.begin(), out.hosts.end(), host) == out.hosts.end())
        out.hosts.push_back(host);
  std::sort(out.hosts.begin(), out.hosts.end(), log::natural_less);
  for (Finding& one : odd_nodes(nodes)) out.findings.push_back(std::move(one));
  add_broken(nodes, out.findings);
  const Told told = told_of(out.findings);
  add_silent(pairs, told, out.findings);
  add_rare_verdicts(nodes, told, out.findings);
  std::stable_sort(out.findings.begin(), out.findings.end(),
                   [](const Finding& a, const Finding& b) { return a.weight < b.weight; });
  std::set<std::string> left_out;
  for (const Finding& one : out.findings)
    if (one.weight == Weight::kLeaveOut) left_out.insert(one.hosts.begin(), one.hosts.end());
  out.leave_out.assign(left_out.begin(), left_out.end());
  std::sort(out.leave_out.begin(), out.leave_out.end(), log::natural_less);
  out.environment = environment_of(nodes, out.leave_out);
  out.pairs = pairs.size();
  out.talked = static_cast<std::size_t>(std::count_if(
      pairs.begin(), pairs.end(), [](const PairResult& pair) { return pair.reachable(); }));
  return out;
}

}  // namespace nnd::cli
