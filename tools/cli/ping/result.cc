#include "cli/ping/result.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>
#include <string.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "cli/common/call_error.h"
#include "cli/common/event_json.h"
#include "cli/common/exit_code.h"
#include "cli/ping/allowed.h"
#include "cli/ping/compare.h"
#include "config/nearest.h"

namespace nnd::cli {

using nlohmann::json;

namespace {

bool fits(const std::string& pattern, const std::string& port) {
  return fnmatch(pattern.c_str(), port.c_str(), 0) == 0 ||
         fnmatch(pattern.c_str(), port.substr(0, port.rfind(':')).c_str(), 0) == 0;
}

[[noreturn]] void no_such_port(const HostDescription& host, const std::string& pattern,
                               const std::vector<std::string>& ports) {
  for (const auto& port : host.ports) {
    if (!fits(pattern, port.name())) continue;
    std::string why = port.verdict;
    for (const auto& reason : port.reasons) why += ", " + reason;
    throw CallError(kNotExamined, "hca",
                    fmt::format("NCCL would not use {} on {}: {}", port.name(), host.host, why),
                    pattern);
  }
  std::vector<std::string> names;
  for (const auto& port : ports) names.push_back(port.substr(0, port.rfind(':')));
  const auto near = config::nearest(pattern, {names.begin(), names.end()});
  throw CallError(kWrongCall, "hca",
                  fmt::format("no HCA of {} is called {}{}; there {}: {}", host.host, pattern,
                              near.empty() ? "" : fmt::format(" (did you mean {}?)", near),
                              ports.size() == 1 ? "is" : "are", fmt::join(ports, ", ")),
                  pattern, near);
}

// A port that is no number is none that verbs has.
int port_number(const std::string& name) {
  const auto colon = name.rfind(':');
  int out = 0;
  if (colon != std::string::npos)
    std::from_chars(name.data() + colon + 1, name.data() + name.size(), out);
  return out;
}

// What the QPs really had goes before what was to be expected.
PairEnd end_of(const HostDescription& host, const std::string& name, const EndpointReport& report) {
  PairEnd out;
  out.host = host.host;
  out.hca = name.substr(0, name.rfind(':'));
  out.port = port_number(name);
  if (const auto* port = host.find(name)) {
    out.netdev = port->netdev;
    out.mtu = port->mtu;
    out.gid_index = port->gid_index;
    out.gid = port->gid;
    out.subnet = port->subnet;
    out.rules = port->rules;
  }
  if (const auto& used = report.events.used) {
    if (used->gid_index) out.gid_index = used->gid_index;
    if (!used->gid.empty()) out.gid = used->gid;
    if (!used->subnet.empty()) out.subnet = used->subnet;
    if (!used->netdev.empty()) out.netdev = used->netdev;
  }
  return out;
}

bool is_refusal(const log::Diagnosis& rule) { return rule.event == "policy.refuse"; }

bool refused_by_rule(const PairResult& pair) {
  return std::any_of(pair.rules.begin(), pair.rules.end(),
                     [](const auto& rule) { return is_refusal(rule.second); });
}

// Each rule once per end.
void add_rules(const EndpointReport& report, bool is_from, PairResult& out) {
  for (const auto& rule : report.events.rules)
    if (std::none_of(out.rules.begin(), out.rules.end(), [&](const auto& other) {
          return other.first == is_from && other.second.rule == rule.rule;
        }))
      out.rules.emplace_back(is_from, rule);
}

// No verb failed, and nothing came.
log::Diagnosis silence(const HostDescription& from, const HostDescription& to) {
  const auto sockets = [](const HostDescription& host) {
    return fmt::format("{}: {} {}", host.host,
                       host.socket_netdev.empty() ? "?" : host.socket_netdev,
                       host.socket_address.empty() ? "?" : host.socket_address);
  };
  log::Diagnosis out;
  out.msg = fmt::format(
      "Neither a connection nor a failed verb before the deadline: NCCL's own TCP sockets may not "
      "reach each other ({}; {}).",
      sockets(from), sockets(to));
  out.fix =
      "Set NCCL_SOCKET_IFNAME to the interface by which these hosts reach each other, and look for "
      "a firewall between them.";
  return out;
}

// GIDs of one link say nothing about another link's.
bool in_other_subnet(const PairResult& pair) {
  const auto &own = pair.from.subnet, &other = pair.to.subnet;
  return !own.empty() && !other.empty() && (own != other || own.starts_with("fe80:"));
}

void add_failure(const EndpointReport& from, const EndpointReport& to, PairResult& out) {
  const auto says = [](const EndpointReport& report) {
    return report.events.first ? log::evidence(*report.events.first) : 0;
  };
  // The end that knows best why it failed.
  out.told_by_from = says(from) >= says(to);
  const auto& first = (out.told_by_from ? from : to).events.first;
  const int evidence = first ? log::evidence(*first) : 0;
  const bool moved = first && first->event == "qp.transition";
  const bool completed = first && first->event == "wc.error";
  out.state = refused_by_rule(out)                   ? PairState::kRefused
              : moved                                ? PairState::kUnreachable
              : (from.late || to.late) && !completed ? PairState::kSilent
                                                     : PairState::kFailed;
  if (evidence > 0) out.told = first;
  if (out.state == PairState::kRefused)
    for (const auto& [is_from, rule] : out.rules)
      if (is_refusal(rule) && (is_from == out.told_by_from || !out.told)) out.told = rule;
  // One that failed by itself, not because the other had.
  const auto& blamed = !from.done && from.why != "cancelled" ? from : to;
  out.stage = blamed.stage;
  out.why = blamed.why;
  out.nccl_warning = blamed.nccl_warning;
  if (evidence == 0) return;
  out.error = first->error;
  out.status = first->wc.status;
  out.status_name = first->wc.status_name;
  out.transition = first->transition;
}

// Of the streams that both ends have measured.
std::vector<Bandwidth> bandwidth_of(const EndpointReport& from, const EndpointReport& to) {
  std::vector<Bandwidth> out;
  for (std::size_t i = 0; i < std::min(from.streams.size(), to.streams.size()); ++i)
    out.push_back({from.streams[i].size, from.streams[i].gb_per_s, to.streams[i].gb_per_s});
  return out;
}

std::string name_of(const PairEnd& end) { return fmt::format("{} {}", end.host, end.port_name()); }

// Ports that took part and reached no other.
std::vector<std::string> lonely_ports(const std::vector<PairResult>& pairs,
                                      const PingScope& scope) {
  std::vector<std::string> order;
  std::set<std::string> seen, reached;
  for (const auto& pair : pairs)
    for (const auto& [end, judged] :
         {std::pair(&pair.from, scope.judge_from), {&pair.to, scope.judge_to}}) {
      const auto name = name_of(*end);
      if (judged && seen.insert(name).second) order.push_back(name);
      if (pair.reachable()) reached.insert(name);
    }
  std::erase_if(order, [&](const std::string& name) { return reached.contains(name); });
  return order;
}

// What is wrong, in sentences. Pairs of ends in different subnets that nothing joins are not wrong
// as long as each port reaches another.
std::vector<std::string> broken(const PingResult& result) {
  std::vector<std::string> out;
  for (const auto& host : result.hosts) {
    if (!host.problem.empty()) out.push_back(fmt::format("{}: {}", host.host, host.problem));
    for (const auto& fault : host.broken) out.push_back(fmt::format("{}: {}", host.host, fault));
    if (host.refused != 0 && select_ports(host, {}).empty())
      out.push_back(fmt::format("{}: the policy keeps all of its HCAs out", host.host));
  }
  for (const auto& tried : result.scope.meetings)
    if (tried.error != 0) out.push_back(trouble_of(tried) + ". " + remedy_of(tried));
  for (const auto& pair : result.pairs)
    if (!pair.reachable() && !pair.apart)
      out.push_back(fmt::format("{} and {}: {}", name_of(pair.from), name_of(pair.to),
                                pair.error ? fmt::format("{} ({})", pair.error_name(), *pair.error)
                                : !pair.why.empty() ? pair.why
                                                    : text_of(pair.state)));
  if (result.scope.all_hcas)
    for (auto& sentence : rails_short(result.hosts)) out.push_back(std::move(sentence));
  if (result.scope.ended.empty())
    for (const auto& name : lonely_ports(result.pairs, result.scope))
      out.push_back(name + " cannot reach any port on the other host");
  return out;
}

// Why no pair was tried.
std::string nothing_to_ping(const PingResult& result) {
  std::vector<std::string> hosts;
  for (const auto& host : result.hosts)
    if (std::none_of(host.ports.begin(), host.ports.end(),
                     [](const auto& port) { return port.verdict == "taken"; }))
      hosts.push_back(host.host);
  if (hosts.empty()) return "There was no pair to try";
  return fmt::format("There was no pair to try: {} {} no HCA that NCCL takes",
                     fmt::join(hosts, " and "), hosts.size() == 1 ? "has" : "have");
}

std::string summary(const PingResult& result) {
  const auto reachable = result.counts.at(PairState::kReachable);
  auto out = result.pairs.empty() && result.scope.ended.empty()
                 ? nothing_to_ping(result)
                 : fmt::format("{} of {} pairs can talk", reachable, result.pairs.size());
  const auto apart = std::count_if(result.pairs.begin(), result.pairs.end(),
                                   [](const PairResult& pair) { return pair.apart; });
  if (apart != 0)
    out += fmt::format("; {} {} in different subnets that nothing joins", apart,
                       apart == 1 ? "is" : "are");
  if (const auto slow = result.slow.size(); slow != 0)
    out += fmt::format("; {} {} slow", slow, slow == 1 ? "is" : "are");
  out += ".";
  for (const auto& host : result.hosts)
    if (host.refused != 0)
      out += fmt::format(" On {} the policy keeps {} HCA{} out.", host.host, host.refused,
                         host.refused == 1 ? "" : "s");
  if (!result.scope.ended.empty())
    out += fmt::format(" Ended after {} of {} pairs: {}.", result.pairs.size(),
                       result.scope.planned, result.scope.ended);
  return out;
}

json or_null(const std::string& text) { return text.empty() ? json() : json(text); }

template <typename T>
json or_null(const std::optional<T>& value) {
  return value ? json(*value) : json();
}

json end_json(const PairEnd& end) {
  return {{"host", end.host},        {"hca", end.hca},
          {"port", end.port},        {"netdev", or_null(end.netdev)},
          {"mtu", or_null(end.mtu)}, {"gid_index", or_null(end.gid_index)},
          {"gid", or_null(end.gid)}, {"subnet", or_null(end.subnet)},
          {"rules", end.rules}};
}

}  // namespace

std::vector<std::string> select_ports(const HostDescription& host,
                                      const std::vector<std::string>& patterns) {
  auto ports = host.devices;
  std::erase(ports, "");
  if (patterns.empty()) return ports;
  std::vector<std::string> out;
  for (const auto& pattern : patterns) {
    bool found = false;
    for (const auto& port : ports) {
      if (!fits(pattern, port)) continue;
      found = true;
      if (std::find(out.begin(), out.end(), port) == out.end()) out.push_back(port);
    }
    if (!found) no_such_port(host, pattern, ports);
  }
  return out;
}

std::vector<PingPair> plan_pairs(std::size_t from_host, const std::vector<std::string>& from,
                                 std::size_t to_host, const std::vector<std::string>& to,
                                 bool matrix) {
  const auto named_there = [&to](const std::string& port) {
    return std::find(to.begin(), to.end(), port) != to.end();
  };
  const bool by_name = std::any_of(from.begin(), from.end(), named_there);
  std::vector<PingPair> out;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (matrix) {
      for (const auto& other : to) out.push_back({from_host, to_host, from[i], other});
    } else if (named_there(from[i])) {
      out.push_back({from_host, to_host, from[i], from[i]});
    } else if (!by_name && i < to.size()) {
      out.push_back({from_host, to_host, from[i], to[i]});
    }
  }
  return out;
}

const char* text_of(PairState state) {
  switch (state) {
    case PairState::kReachable:
      return "reachable";
    case PairState::kRefused:
      return "refused";
    case PairState::kUnreachable:
      return "unreachable";
    case PairState::kSilent:
      return "silent";
    case PairState::kFailed:
      break;
  }
  return "failed";
}

std::string PairEnd::port_name() const { return fmt::format("{}:{}", hca, port); }

const char* PairResult::policy() const {
  return refused_by_rule(*this) ? "refused" : rules.empty() ? "fine" : "warned";
}

std::string PairResult::error_name() const {
  if (error.value_or(0) == 0) return "";
  const char* const name = strerrorname_np(*error);
  return name != nullptr ? name : std::to_string(*error);
}

PairResult pair_result(const PingPair& pair, const std::vector<HostDescription>& hosts,
                       const PairOutcome& outcome) {
  const auto &from = outcome.from, &to = outcome.to;
  PairResult out;
  out.from = end_of(hosts[pair.from_host], pair.from, from);
  out.to = end_of(hosts[pair.to_host], pair.to, to);
  add_rules(from, true, out);
  add_rules(to, false, out);
  out.seconds = outcome.seconds;
  out.path_mtu = from.events.path_mtu;
  out.connect_ms = from.connect_ms;
  if (from.done && to.done && from.latency) {
    out.state = PairState::kReachable;
    out.latency = from.latency;
    out.verified_bytes = from.verified_bytes + to.verified_bytes;
    out.bandwidth = bandwidth_of(from, to);
    out.allowed = allowed_between(hosts[pair.from_host], pair.from, hosts[pair.to_host], pair.to);
  } else {
    add_failure(from, to, out);
    if (out.state == PairState::kSilent && out.stage == "connect" && !out.told)
      out.told = silence(hosts[pair.from_host], hosts[pair.to_host]);
    name_mixed_links(hosts, out);
  }
  out.apart = in_other_subnet(out) &&
              (out.state == PairState::kUnreachable || out.state == PairState::kRefused);
  for (const auto* report : {&from, &to})
    out.troubles.insert(out.troubles.end(), report->events.troubles.begin(),
                        report->events.troubles.end());
  return out;
}

PingResult ping_result(std::vector<HostDescription> hosts, std::vector<PairResult> pairs,
                       PingScope scope) {
  PingResult out{std::move(hosts), std::move(pairs), std::move(scope), {}, kFine, "", {}, {}, {}};
  find_misaddressed(out.pairs);
  for (const auto state : {PairState::kReachable, PairState::kRefused, PairState::kUnreachable,
                           PairState::kSilent, PairState::kFailed})
    out.counts[state] = 0;
  for (const auto& pair : out.pairs) ++out.counts[pair.state];
  out.broken = broken(out);
  if (out.scope.alone) {
    out.slow = slow_sentences(out.pairs);
    out.notes = bound_notes(out.pairs);
  }
  out.text = summary(out);
  const bool refuses = std::any_of(out.hosts.begin(), out.hosts.end(),
                                   [](const auto& host) { return host.refused != 0; });
  out.exit_code = !out.scope.ended.empty() || (out.pairs.empty() && !refuses) ? kNotExamined
                  : out.broken.empty() && !out.pairs.empty()                  ? kFine
                                                                              : kBroken;
  return out;
}

json to_json(const PairResult& pair) {
  json out{{"from", end_json(pair.from)},
           {"to", end_json(pair.to)},
           {"state", text_of(pair.state)},
           {"apart", pair.apart},
           {"policy", pair.policy()},
           {"seconds", pair.seconds},
           {"path_mtu", or_null(pair.path_mtu)},
           {"rules", json::array()},
           {"troubles", json::array()}};
  for (const auto& [is_from, rule] : pair.rules) {
    out["rules"].push_back(to_json(rule));
    out["rules"].back()["end"] = is_from ? "from" : "to";
  }
  for (const auto& trouble : pair.troubles) out["troubles"].push_back(to_json(trouble));
  if (pair.connect_ms) out["connect_ms"] = *pair.connect_ms;
  if (pair.attempts > 1) out["attempts"] = pair.attempts;
  if (pair.reachable()) {
    out["latency_us"] = to_json(*pair.latency);
    out["verified_bytes"] = pair.verified_bytes;
    out["bandwidth"] = json::array();
    for (const auto& row : pair.bandwidth) {
      out["bandwidth"].push_back({{"size", row.size},
                                  {"there_gb_per_s", row.there_gb_per_s},
                                  {"back_gb_per_s", row.back_gb_per_s}});
      if (pair.allowed)
        out["bandwidth"].back()["of_allowed"] = row.slower() / pair.allowed->gb_per_s;
    }
    if (pair.allowed) {
      out["allowed_gb_per_s"] = pair.allowed->gb_per_s;
      out["allowed_by"] = pair.allowed->by;
    }
    return out;
  }
  out["end"] = pair.told_by_from ? "from" : "to";
  out["stage"] = or_null(pair.stage);
  out["why"] = or_null(pair.why);
  if (!pair.nccl_warning.empty()) out["nccl_warning"] = pair.nccl_warning;
  if (pair.told) {
    out["cause"] = or_null(pair.told->cause);
    out["msg"] = or_null(pair.told->msg);
    out["fix"] = or_null(pair.told->fix);
  }
  if (pair.error) out["errno"] = *pair.error;
  if (const auto name = pair.error_name(); !name.empty()) out["errno_name"] = name;
  if (pair.status) out["status"] = *pair.status;
  if (!pair.status_name.empty()) out["status_name"] = pair.status_name;
  if (!pair.transition.empty()) out["transition"] = pair.transition;
  return out;
}

json to_json(const PingResult& result) {
  json out{{"matrix", result.scope.matrix},
           {"hosts", json::array()},
           {"pairs", json::array()},
           {"meetings", json::array()},
           {"planned", result.scope.planned},
           {"ended", or_null(result.scope.ended)},
           {"broken", result.broken},
           {"slow", result.slow},
           {"notes", result.notes}};
  for (const auto& host : result.hosts) out["hosts"].push_back(host.whole);
  for (const auto& pair : result.pairs) out["pairs"].push_back(to_json(pair));
  for (const auto& tried : result.scope.meetings) out["meetings"].push_back(to_json(tried));
  for (const auto& [state, count] : result.counts) out["counts"][text_of(state)] = count;
  return out;
}

std::vector<PingGrid> ping_grids(const std::vector<PairResult>& pairs) {
  const auto note = [](std::vector<std::string>& list, const std::string& name) {
    if (std::find(list.begin(), list.end(), name) == list.end()) list.push_back(name);
  };
  std::vector<PingGrid> out;
  for (const auto& pair : pairs) {
    auto found = std::find_if(out.begin(), out.end(), [&](const PingGrid& grid) {
      return grid.from_host == pair.from.host && grid.to_host == pair.to.host;
    });
    if (found == out.end())
      found = out.insert(out.end(), {pair.from.host, pair.to.host, {}, {}, {}});
    const auto row = pair.from.port_name(), column = pair.to.port_name();
    note(found->rows, row);
    note(found->columns, column);
    found->pairs[{row, column}] = &pair;
  }
  return out;
}

}  // namespace nnd::cli
