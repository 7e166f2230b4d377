#include "policy/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "diagnosis/device.h"
#include "diagnosis/node.h"
#include "policy/candidates.h"
#include "policy/fabric.h"
#include "policy/far_gpus.h"
#include "policy/missing.h"
#include "policy/pci_functions.h"

namespace nnd::policy {

namespace {

using facts::Hca;
using facts::Node;
using facts::Port;
using facts::PortChoice;

class NodeJudge {
 public:
  NodeJudge(const Node& node, const Policy& policy, Mode mode, std::string_view host)
      : node_(node), host_(host), rules_(policy.for_host(host)) {
    out_.mode = mode;
    for (const Hca& hca : node.hcas)
      for (const Port& port : hca.ports)
        if (port.choice == PortChoice::kTaken || port.choice == PortChoice::kOverLimit)
          candidates_.push_back({&hca, &port, rules_.for_device(host, hca.name)});
  }

  Judgement judge() {
    std::vector<std::vector<Verdict>> broken(candidates_.size());
    judge_pass({judge_lists}, broken);
    judge_functions();
    find_fabric(node_, candidates_);
    for (const auto& pass : rule_passes()) judge_pass(pass, broken);
    seat();
    for (std::size_t i = 0; i < candidates_.size(); ++i)
      if (is_told(candidates_[i]))
        for (Verdict& rule : broken[i]) add(&candidates_[i], std::move(rule));
    for (Verdict& verdict : functions_) add(nullptr, std::move(verdict));
    judge_unusable();
    judge_missing();
    judge_far_gpus();
    list_meant();
    judge_whole();
    judge_limits();
    for (Verdict& verdict : out_.verdicts) {
      verdict.remaining = out_.remaining;
      std::string& remedy = verdict.diagnosis.remedy;
      if (remedy.empty())
        remedy = leave_out(verdict);
      else if (verdict.rail_short)
        remedy += " Until then run jobs without this node, or without the rail on every node: " +
                  without(verdict);
    }
    if (out_.mode == Mode::kEnforce) enforce();
    return std::move(out_);
  }

 private:
  // All candidates see the same peers: who is denied goes out when the pass is over.
  void judge_pass(const std::vector<Rule>& pass, std::vector<std::vector<Verdict>>& broken) {
    std::vector<bool> denied(candidates_.size());
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (candidates_[i].out) continue;
      for (const Rule rule : pass) {
        rule(node_, candidates_, candidates_[i], broken[i]);
        denied[i] = std::any_of(broken[i].begin(), broken[i].end(),
                                [](const Verdict& one) { return one.action == Action::kDeny; });
        if (denied[i]) break;
      }
    }
    for (std::size_t i = 0; i < candidates_.size(); ++i)
      if (denied[i]) candidates_[i].out = true;
  }

  // What is true of many functions is one fault, and told of the first of them.
  void judge_functions() {
    for (PciFunctions& set : sets_of_functions(candidates_)) {
      const bool sure = set.seen.meant != diagnosis::VirtualBesidePhysical::Meant::kNotKnown;
      Verdict verdict{"hca.vf_with_pf", diagnose(set.seen), Action::kAllow};
      for (Candidate* one : set.odd) {
        const Action action =
            std::min(one->rules.hca.vf_with_pf, sure ? Action::kDeny : Action::kWarn);
        if (action == Action::kAllow) continue;
        one->out = action == Action::kDeny;
        one->either = !one->out;
        verdict.action = std::max(verdict.action, action);
        if (verdict.device.empty()) {
          verdict.device = one->hca->name;
          verdict.port = one->port->number;
        } else {
          verdict.also.push_back(one->name());
        }
      }
      if (!verdict.device.empty()) functions_.push_back(std::move(verdict));
    }
  }

  // NCCL takes so many HCAs of those that it sees, in their order: the place of one that is refused
  // goes to a later one. It looks at the number before each device.
  void seat() {
    const auto places = static_cast<std::size_t>(facts::max_ib_devices(node_.nccl_version));
    std::string_view last;
    bool full = false;
    for (Candidate& candidate : candidates_) {
      if (candidate.hca->name != last) full = out_.remaining.size() >= places;
      last = candidate.hca->name;
      candidate.seated = !full;
      if (candidate.out) continue;
      if (candidate.seated) out_.remaining.push_back(candidate.name());
      if (!candidate.seated || candidate.either || candidate.unlike.kinds() != 0)
        out_.doubtful.push_back(candidate.name());
    }
  }

  // Beyond NCCL's limit nothing is odd, unless refusals make room for it.
  bool is_told(const Candidate& candidate) const {
    return candidate.port->choice == PortChoice::kTaken ||
           (candidate.seated && out_.mode == Mode::kEnforce);
  }

  // No fault: some machines are made so, and relaying over NVLink makes up for it.
  void judge_far_gpus() {
    for (const diagnosis::FarGpu& far : far_gpus(node_, candidates_)) {
      if (rules_.gdr_none == Action::kAllow) continue;
      add(nullptr, {"gdr.missing", diagnose(far), Action::kAllow});
      out_.verdicts.back().device = far.device;
      out_.verdicts.back().port = far.port;
    }
  }

  // In verbs' order.
  void list_meant() {
    for (const Hca& hca : node_.hcas)
      for (const Port& port : hca.ports) {
        const std::string name = fmt::format("{}:{}", hca.name, port.number);
        const auto names = [&name](const std::vector<std::string>& list) {
          return std::find(list.begin(), list.end(), name) != list.end();
        };
        if (names(out_.remaining) || names(down_)) out_.meant.push_back(name);
      }
  }

  // Keeps the verdict's HCAs from NCCL, and no other one that is meant: the same list on a node
  // whose rails are all there. A list of all others is only given where they are known to be meant.
  std::string without(const Verdict& verdict) const {
    std::vector<std::string> others = out_.meant;
    std::string odd;
    for (const Hca& hca : node_.hcas)
      for (const Port& port : hca.ports) {
        if (!verdict.about(hca.name, port.number)) continue;
        const std::string name = fmt::format("{}:{}", hca.name, port.number);
        std::erase(others, name);
        odd += ',' + (hca.ports.size() > 1 ? name : hca.name);
      }
    return out_.doubtful.empty() || odd.empty() || node_.filter.given
               ? hca_setting(node_, others)
               : "NCCL_IB_HCA=^=" + odd.substr(1);
  }

  std::string leave_out(const Verdict& verdict) const {
    const bool sure =
        out_.doubtful.empty() || verdict.device.empty() || verdict.action == Action::kDeny;
    return (sure ? "" : "If it is not meant: ") + without(verdict);
  }

  void add(const Candidate* candidate, Verdict verdict) {
    if (candidate) {
      verdict.device = candidate->hca->name;
      verdict.port = candidate->port->number;
    }
    verdict.decision = decide(verdict.action, out_.mode);
    out_.verdicts.push_back(std::move(verdict));
  }

  // Those that NCCL can't take anyhow: there is nothing to refuse. Where none can be opened it is
  // one fault and not as many as there are HCAs: a single sentence for all of them.
  void judge_unusable() {
    std::vector<const Hca*> closed;
    for (const Hca& hca : node_.hcas)
      if (hca.closed && rules_.for_device(host_, hca.name).hca.unusable != Action::kAllow)
        closed.push_back(&hca);
    if (closed.size() > 1 && closed.size() == node_.hcas.size())
      return add(nullptr, {"hca.unusable",
                           diagnose(diagnosis::NoneOpens{closed.size(), *closed.front()->closed}),
                           Action::kWarn});
    for (const Hca* hca : closed) {
      add(nullptr, {"hca.unusable", diagnose(*hca->closed), Action::kWarn});
      out_.verdicts.back().device = hca->name;
    }
  }

  void judge_missing() {
    for (MissingPort& missing : missing_ports(node_, candidates_)) {
      if (rules_.for_device(host_, missing.hca->name).hca.phys_state == Action::kAllow) continue;
      add(nullptr, {"hca.phys_state", diagnose(missing.seen), Action::kWarn});
      Verdict& told = out_.verdicts.back();
      told.device = missing.hca->name;
      told.port = missing.port->number;
      told.rail_short = true;
      if (missing.sure()) down_.push_back(missing.seen.place);
    }
  }

  void judge_whole() {
    const auto left = static_cast<long>(out_.remaining.size());
    if (left < rules_.hca.min_count)
      add(nullptr, {"hca.min_count", diagnose(diagnosis::TooFewPorts{left, rules_.hca.min_count}),
                    Action::kDeny});
    if (rules_.fallback.socket == Action::kDeny && !node_.tcp_by.empty())
      add(nullptr, {"fallback.socket", diagnose(diagnosis::TcpAsked{node_.tcp_by}), Action::kDeny});
    if (left > 0 || node_.rdma_unwanted) return;
    if (rules_.fallback.socket == Action::kDeny)
      add(nullptr, {"fallback.socket", diagnose(diagnosis::NoneLeft{}), Action::kDeny});
    else if (rules_.fallback.socket == Action::kWarn && candidates_.empty() &&
             facts::expects_rdma(node_))
      add(nullptr, {"fallback.socket",
                    diagnose(diagnosis::NoneUsable{node_.hcas.size(), node_.sysfs_hcas.size(),
                                                   node_.pci.rdma, blamed_filter()}),
                    Action::kWarn});
    else if (candidates_.empty() && !node_.hcas.empty() && !facts::expects_rdma(node_))
      add(nullptr, {"fallback.socket", diagnose(diagnosis::OtherKindOnly{node_.hcas.size()}),
                    Action::kAllow});
  }

  // NCCL_IB_HCA, where that alone keeps out what could be used.
  std::string blamed_filter() const {
    bool kept_out = false;
    for (const Hca& hca : node_.hcas)
      for (const facts::Port& port : hca.ports) {
        if (node_.filter.takes(hca.name, port.number)) return {};
        kept_out = kept_out || port.choice == facts::PortChoice::kUserFilter;
      }
    return kept_out ? node_.filter.text : "";
  }

  void judge_limits() {
    const bool real = std::any_of(node_.hcas.begin(), node_.hcas.end(), [](const Hca& hca) {
      return hca.uverbs != facts::UverbsState::kNotExamined;
    });
    if (out_.remaining.empty() || (!real && !rules_.limits_given)) return;
    const facts::Limits& limits = node_.system.limits;
    if (!limits.cap_ipc_lock && rules_.limits.action != Action::kAllow &&
        below(limits.memlock_soft, rules_.limits.memlock))
      add(nullptr, {"limits.memlock", diagnose(diagnosis::LittleLockedMemory{limits.memlock_soft}),
                    rules_.limits.action});
    if (below(limits.nofile_soft, rules_.limits.nofile))
      add(nullptr, {"limits.nofile",
                    diagnose(diagnosis::TooFewFiles{limits.nofile_soft, rules_.limits.nofile}),
                    Action::kWarn});
  }

  // The largest long stands for unlimited.
  static bool below(std::uint64_t limit, long least) {
    if (least == std::numeric_limits<long>::max())
      return limit != std::numeric_limits<std::uint64_t>::max();
    return limit < static_cast<std::uint64_t>(least);
  }

  void enforce() {
    bool refused_some = false;
    for (const Candidate& candidate : candidates_)
      if (candidate.out) {
        out_.refused.push_back({candidate.hca->name, candidate.port->number});
        refused_some = true;
      }
    // A port that NCCL would not take now may come up later, or another NCCL has another list.
    for (const Hca& hca : node_.hcas)
      for (const Port& port : hca.ports)
        if (!out_.refuses(hca.name, port.number) && denied_by_name(rules_, host_, hca.name))
          out_.refused.push_back({hca.name, port.number});
    for (std::size_t i = 0; i < out_.verdicts.size(); ++i) {
      const Verdict& verdict = out_.verdicts[i];
      if (!verdict.device.empty() || verdict.decision != Decision::kRefuse) continue;
      if (!out_.network_refused)
        out_.network_refused = {verdict.diagnosis, i};
      else
        out_.network_refused->diagnosis.sentence += ' ' + verdict.diagnosis.sentence;
    }
    if (!out_.remaining.empty() || !refused_some || out_.network_refused) return;
    out_.network_refused = {out_.verdicts.front().diagnosis, 0};
    std::string& sentence = out_.network_refused->diagnosis.sentence;
    sentence = "The policy refuses every HCA of this node: " + sentence;
  }

  const Node& node_;
  std::string_view host_;
  Policy rules_;
  Candidates candidates_;
  std::vector<Verdict> functions_;
  std::vector<std::string> down_;  // rails
  Judgement out_;
};

}  // namespace

bool Verdict::about(std::string_view of, unsigned its_port) const {
  return (of == device && (port == 0 || port == its_port)) ||
         std::find(also.begin(), also.end(), fmt::format("{}:{}", of, its_port)) != also.end();
}

bool Judgement::refuses(std::string_view device, unsigned port) const {
  return std::any_of(refused.begin(), refused.end(), [&](const Refusal& refusal) {
    return refusal.device == device && refusal.port == port;
  });
}

Judgement judge_node(const Node& node, const Policy& policy, Mode mode, std::string_view host) {
  return NodeJudge(node, policy, mode, host).judge();
}

void fill_places(Node& node, const Judgement& judgement) {
  if (judgement.mode != Mode::kEnforce) return;
  for (Hca& hca : node.hcas)
    for (Port& port : hca.ports) {
      const std::string name = fmt::format("{}:{}", hca.name, port.number);
      if (port.choice != PortChoice::kOverLimit ||
          std::find(judgement.remaining.begin(), judgement.remaining.end(), name) ==
              judgement.remaining.end())
        continue;
      port.choice = PortChoice::kTaken;
      port.reasons = {"in the place of a refused one"};
    }
}

Mode effective_mode(const Policy& policy, const config::Settings& settings) {
  return settings.mode_given ? settings.mode : policy.mode;
}

std::string hca_setting(const Node& node, const std::vector<std::string>& ports) {
  if (ports.empty()) return "No HCA is left: look at the skipped and refused ports of this node.";
  std::string out;
  for (const Hca& hca : node.hcas) {
    std::string own;
    std::size_t kept = 0;
    for (const Port& port : hca.ports) {
      const std::string name = fmt::format("{}:{}", hca.name, port.number);
      if (std::find(ports.begin(), ports.end(), name) == ports.end()) continue;
      own += ',' + name;
      ++kept;
    }
    if (kept == 0) continue;
    // A port that is neither taken nor listed is down or left out as it is.
    const auto there = static_cast<std::size_t>(
        std::count_if(hca.ports.begin(), hca.ports.end(), [&](const Port& port) {
          return port.choice == PortChoice::kTaken || port.choice == PortChoice::kOverLimit ||
                 std::find(ports.begin(), ports.end(),
                           fmt::format("{}:{}", hca.name, port.number)) != ports.end();
        }));
    out += kept == there ? ',' + hca.name : own;
  }
  return "NCCL_IB_HCA==" + out.substr(1);
}

std::string Candidate::name() const { return fmt::format("{}:{}", hca->name, port->number); }

const facts::NetDev* Candidate::netdev(const facts::Network& network) const {
  const facts::Gid* gid = port->picked();
  if (gid && gid->owner_ifindex != 0)
    if (const facts::NetDev* dev = network.find(gid->owner_ifindex)) return dev;
  return network.find(hca->bond.empty() ? hca->netdev : hca->bond);
}

std::vector<const Candidate*> peers_of(const Candidates& all, const Candidate& one) {
  std::vector<const Candidate*> out;
  for (const Candidate& other : all)
    if (&other != &one && !other.out && other.membership != Membership::kOutside &&
        other.port->link_layer == one.port->link_layer)
      out.push_back(&other);
  return out;
}

long median_speed(const std::vector<const Candidate*>& peers) {
  std::vector<long> speeds;
  for (const Candidate* peer : peers)
    if (peer->port->speed_mbps > 0) speeds.push_back(peer->port->speed_mbps);
  if (speeds.empty()) return 0;
  std::sort(speeds.begin(), speeds.end());
  return speeds[(speeds.size() - 1) / 2];
}

std::vector<std::vector<Rule>> rule_passes() {
  return {{judge_link_layer, judge_bond, judge_outside},
          {judge_own_state, judge_gid, judge_gdr},
          {judge_default_route, judge_speed, judge_mtu}};
}

}  // namespace nnd::policy
