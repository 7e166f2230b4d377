#include "cli/preflight/talk.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

namespace nnd::cli {

namespace {

using Port = std::pair<std::string, std::string>;  // host, "mlx5_0:1"

Port port_of(const PairEnd& end) { return {end.host, end.port_name()}; }

std::string why_of(const PairResult& pair) {
  if (pair.told && !pair.told->msg.empty()) return pair.told->msg;
  return (pair.why.empty() ? std::string(text_of(pair.state)) : pair.why) + ".";
}

std::string cause_of(const PairResult& pair) { return pair.told ? pair.told->cause : ""; }

std::string remedy_of(const PairResult& pair) {
  if (pair.told && !pair.told->fix.empty()) return pair.told->fix;
  return fmt::format("Try it by itself: nccl-net-diag ping, {} with {}.", pair.from.host,
                     pair.to.host);
}

class Talk {
 public:
  explicit Talk(const std::vector<PairResult>& pairs) {
    for (const PairResult& pair : pairs)
      for (const auto& [own, other] :
           {std::pair(&pair.from, &pair.to), std::pair(&pair.to, &pair.from)}) {
        Tries& tries = tries_[port_of(*own)];
        if (pair.reachable())
          ++tries.talked;
        else
          tries.failed.push_back({&pair, port_of(*other)});
      }
  }

  std::vector<Finding> findings() {
    std::vector<Finding> out;
    for (const auto& [port, tries] : tries_)
      if (is_at_fault(tries)) at_fault_[port.first].push_back(port.second);
    for (const auto& [host, ports] : at_fault_) add_host(host, ports, out);
    std::set<const PairResult*> told;
    for (const auto& [port, tries] : tries_)
      for (const auto& [pair, other] : tries.failed)
        if (!explained(*pair) && told.insert(pair).second) out.push_back(of_pair(*pair));
    return out;
  }

 private:
  struct Failed {
    const PairResult* pair;
    Port other;
  };
  struct Tries {
    std::size_t talked = 0;
    std::vector<Failed> failed;
  };

  // It reaches nobody, and one of those at least reaches another.
  bool is_at_fault(const Tries& tries) const {
    return tries.talked == 0 && tries.failed.size() > 1 &&
           std::any_of(tries.failed.begin(), tries.failed.end(),
                       [&](const Failed& one) { return tries_.at(one.other).talked != 0; });
  }
  bool is_at_fault(const PairEnd& end) const {
    const auto found = at_fault_.find(end.host);
    return found != at_fault_.end() && std::find(found->second.begin(), found->second.end(),
                                                 end.port_name()) != found->second.end();
  }
  bool explained(const PairResult& pair) const {
    return is_at_fault(pair.from) || is_at_fault(pair.to);
  }

  std::size_t ports_of(const std::string& host) const {
    return static_cast<std::size_t>(std::count_if(
        tries_.begin(), tries_.end(), [&](const auto& one) { return one.first.first == host; }));
  }

  void add_host(const std::string& host, const std::vector<std::string>& ports,
                std::vector<Finding>& out) const {
    const bool whole = ports.size() > 1 && ports.size() == ports_of(host);
    for (const auto& port : ports) {
      const Tries& tries = tries_.at({host, port});
      std::vector<std::string> peers;
      for (const auto& one : tries.failed) peers.push_back(one.other.first);
      const PairResult& first = *tries.failed.front().pair;
      Finding finding;
      finding.weight = Weight::kLeaveOut;
      finding.hosts = {host};
      if (!whole) finding.device = port.substr(0, port.rfind(':'));
      finding.cause = cause_of(first);
      finding.text =
          fmt::format("{} can{} talk with {}, which can talk with others: {}",
                      whole ? fmt::format("None of the {} HCAs of {}", ports.size(), host)
                            : fmt::format("{} of {}", finding.device, host),
                      whole ? "" : "'t", fmt::join(peers, " or "), why_of(first));
      finding.remedy = remedy_of(first);
      out.push_back(std::move(finding));
      if (whole) return;
    }
  }

  Finding of_pair(const PairResult& pair) const {
    const auto talks = [&](const PairEnd& end) { return tries_.at(port_of(end)).talked != 0; };
    Finding out;
    out.weight = Weight::kMend;
    out.hosts = {pair.from.host, pair.to.host};
    if (pair.from.hca == pair.to.hca) out.device = pair.from.hca;
    out.cause = cause_of(pair);
    out.text = fmt::format(
        "{} of {} and {} of {} can't talk{}: {}", pair.from.hca, pair.from.host, pair.to.hca,
        pair.to.host,
        talks(pair.from) && talks(pair.to) ? ", though each can talk with another node" : "",
        why_of(pair));
    out.remedy = remedy_of(pair);
    return out;
  }

  std::map<Port, Tries> tries_;
  std::map<std::string, std::vector<std::string>> at_fault_;  // by host: ports
};

}  // namespace

std::vector<Finding> silent_hcas(const std::vector<PairResult>& pairs) {
  return Talk(pairs).findings();
}

}  // namespace nnd::cli
