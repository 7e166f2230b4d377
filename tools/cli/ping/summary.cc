#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "cli/common/exit_code.h"
#include "cli/ping/result.h"

namespace nnd::cli {

using nlohmann::json;

namespace {

std::string name_of(const json& end) {
  return fmt::format("{} {}:{}", end.at("host").get<std::string>(),
                     end.at("hca").get<std::string>(), end.at("port").get<int>());
}

bool reachable(const json& pair) { return pair.at("state") == "reachable"; }

std::map<std::string, int> count_states(const json& pairs) {
  std::map<std::string, int> out{
      {"reachable", 0}, {"refused", 0}, {"unreachable", 0}, {"silent", 0}, {"failed", 0}};
  for (const auto& pair : pairs) ++out[pair.at("state").get<std::string>()];
  return out;
}

// Ports that took part and met no other.
std::vector<std::string> lonely_ports(const json& pairs, const PingScope& scope) {
  std::vector<std::string> order;
  std::set<std::string> seen, met;
  for (const auto& pair : pairs)
    for (const char* end : {"from", "to"}) {
      const bool judged = std::string_view(end) == "from" ? scope.judge_from : scope.judge_to;
      const auto name = name_of(pair.at(end));
      if (judged && seen.insert(name).second) order.push_back(name);
      if (reachable(pair)) met.insert(name);
    }
  std::erase_if(order, [&](const std::string& name) { return met.contains(name); });
  return order;
}

json check_result_of(const json& host) {
  return host.value("check", json::object()).value("result", json::object());
}

bool refuses(const std::vector<json>& hosts) {
  return std::any_of(hosts.begin(), hosts.end(), [](const json& host) {
    return check_result_of(host).value("refused", 0) != 0;
  });
}

// What is wrong, in sentences. Pairs of ends in different subnets that nothing joins are not wrong
// as long as each port meets another.
json broken(const std::vector<json>& hosts, const json& pairs, const PingScope& scope) {
  json out = json::array();
  for (const auto& host : hosts) {
    const std::string name = host.value("host", "?");
    if (host.contains("problem"))
      out.push_back(fmt::format("{}: {}", name, host.at("problem").get<std::string>()));
    const auto result = check_result_of(host);
    for (const auto& fault : result.value("broken", json::array()))
      out.push_back(fmt::format("{}: {}", name, fault.get<std::string>()));
    if (const auto refused = result.value("refused", 0); refused != 0)
      out.push_back(fmt::format("{}: the policy refuses {} of its HCAs", name, refused));
  }
  for (const auto& pair : pairs)
    if (!reachable(pair) && !pair.at("apart").get<bool>())
      out.push_back(fmt::format(
          "{} and {}: {}", name_of(pair.at("from")), name_of(pair.at("to")),
          pair.contains("errno_name")
              ? fmt::format("{} ({})", pair.at("errno_name").get<std::string>(),
                            pair.at("errno").get<int>())
          : pair.value("why", json()).is_string() ? pair.at("why").get<std::string>()
                                                  : pair.at("state").get<std::string>()));
  if (scope.ended.empty())
    for (const auto& name : lonely_ports(pairs, scope))
      out.push_back(name + " meets no port over there");
  return out;
}

}  // namespace

json ping_result(const std::vector<json>& hosts, const std::vector<json>& pairs,
                 const PingScope& scope) {
  const auto& ended = scope.ended;
  json out{{"v", 1}, {"matrix", scope.matrix}, {"hosts", hosts}, {"pairs", pairs}};
  const auto states = count_states(out["pairs"]);
  out["counts"] = states;
  out["planned"] = scope.planned;
  out["ended"] = ended.empty() ? json() : json(ended);
  const auto faults = broken(hosts, out["pairs"], scope);
  const int code = !ended.empty() || (pairs.empty() && !refuses(hosts)) ? kNotExamined
                   : faults.empty()                                     ? kFine
                                                                        : kBroken;
  std::string text = fmt::format("{} of {} pairs can talk", states.at("reachable"), pairs.size());
  std::size_t apart = 0;
  for (const auto& pair : pairs) apart += pair.at("apart").get<bool>() ? 1 : 0;
  if (apart != 0)
    text += fmt::format("; {} {} in different subnets that nothing joins", apart,
                        apart == 1 ? "is" : "are");
  text += ".";
  if (!ended.empty())
    text += fmt::format(" Ended after {} of {} pairs: {}.", pairs.size(), scope.planned, ended);
  out["result"] = {{"exit_code", code}, {"text", text}, {"broken", faults}};
  out["ok"] = code == kFine;
  return out;
}

}  // namespace nnd::cli
