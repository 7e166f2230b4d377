#include "cli/ping/events.h"

#include <array>
#include <string>

namespace nnd::cli {

using nlohmann::json;

namespace {

constexpr std::size_t kMostTroubles = 32;

std::string kind_of(const json& event) { return event.value("ev", ""); }

bool of_pair(const json& event) {
  const auto kind = kind_of(event);
  return event.contains("conn") || kind == "wc.error" || kind == "port.event";
}

json brief(const json& event) {
  json out;
  for (const char* key : {"ev", "sev", "dir", "rule", "cause", "msg", "fix", "errno", "verb",
                          "stage", "rc", "dev", "peer", "dur_us"})
    if (event.contains(key)) out[key] = event.at(key);
  if (const auto wc = event.find("wc"); wc != event.end()) {
    out["status"] = wc->value("status", 0);
    out["status_name"] = wc->value("status_name", "");
  }
  if (const auto qp = event.find("qp"); qp != event.end() && qp->contains("to"))
    out["to"] = qp->at("to");
  return out;
}

// Which says most: the verb that failed, the completion, the end of the connection.
int weight(const json& event) {
  const auto kind = kind_of(event);
  if (kind == "qp.transition" && event.value("rc", 0) != 0) return 4;
  if (kind == "wc.error") return 3;
  if (kind == "mr.register" && event.value("sev", "") != "info") return 2;
  return kind == "conn.fail" ? 1 : 0;
}

}  // namespace

json digest_attempt(const std::vector<json>& events) {
  json out{{"own", nullptr},   {"peer", nullptr},        {"path_mtu", nullptr},
           {"first", nullptr}, {"rules", json::array()}, {"troubles", json::array()}};
  int best = 0;
  for (const auto& event : events) {
    if (!of_pair(event)) continue;
    const auto kind = kind_of(event);
    if (kind == "qp.transition" && event.contains("dev") && event.at("dev").contains("gid") &&
        (out["own"].is_null() || event.at("rc") != 0)) {
      out["own"] = event.at("dev");
      out["peer"] = event.value("peer", json());
      out["path_mtu"] = event.at("qp").value("path_mtu", json());
    }
    if (const int now = weight(event); now > best) {
      best = now;
      out["first"] = brief(event);
    }
    if (kind.starts_with("policy.")) out["rules"].push_back(brief(event));
    if (event.value("sev", "info") != "info" && out["troubles"].size() < kMostTroubles)
      out["troubles"].push_back(brief(event));
  }
  return out;
}

}  // namespace nnd::cli
