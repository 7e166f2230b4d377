#include "cli/report/host_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <vector>

#include "cli/common/html_text.h"
#include "log/natural_order.h"

namespace nnd::cli {

using report::Report;

namespace {

constexpr std::size_t kMostHosts = 2'000;  // hosts that are shown one by one

// What is known of an HCA, the worst of it.
enum class Health : std::uint8_t { kSeen, kOk, kWarned, kFailed, kGuilty };
constexpr std::array<const char*, 5> kHealthNames{"seen", "ok", "warned", "failed", "guilty"};

using Hcas = std::map<std::string, std::map<std::string, Health>>;  // by host and device

void note(Hcas& hcas, const report::Place& place, Health health) {
  if (place.host.empty() || place.dev.empty()) return;
  Health& known = hcas[place.host][place.dev];
  known = std::max(known, health);
}

Hcas health_of(const Report& report) {
  Hcas out;
  const auto& picture = report.picture;
  for (std::size_t i = 0; i < picture.members.size(); ++i) {
    const auto& process = *picture.members[i].log;
    for (const auto& hca : process.hcas) note(out, {process.host, hca.dev.name, ""}, Health::kSeen);
    for (const auto& [number, connection] : process.connections)
      if (connection.ready_ns != 0) note(out, picture.place_of(i, connection.dev), Health::kOk);
    for (const auto& told : process.diagnoses)
      if (told.severity == log::Severity::kWarn)
        note(out, picture.place_of(i, told.dev), Health::kWarned);
  }
  for (const auto* failures : {&report.first.roots, &report.first.other})
    for (const auto& failure : *failures) {
      note(out, failure.here, Health::kFailed);
      note(out, failure.there, Health::kFailed);
    }
  for (const auto& wait : report.waits.network) note(out, wait.here, Health::kFailed);
  for (const auto& slow : report.slow) note(out, slow.place, Health::kGuilty);
  for (const auto& culprit : report.culprits) {
    using Of = report::Culprit::Kind;
    const bool rail = culprit.kind == Of::kRail, host_kind = culprit.kind == Of::kHost;
    if (!rail && !host_kind && culprit.kind != Of::kHca && culprit.kind != Of::kPort) continue;
    for (auto& [host, devices] : out)
      for (auto& [dev, health] : devices)
        if ((rail || host == culprit.place.host) && (host_kind || dev == culprit.place.dev))
          health = Health::kGuilty;
  }
  return out;
}

struct HostRow {
  std::string host;
  Health worst = Health::kSeen;
  std::ptrdiff_t bad = 0;  // HCAs that are worse than connected
};

std::vector<HostRow> worst_first(const Hcas& hcas) {
  std::vector<HostRow> out;
  for (const auto& [host, of] : hcas) {
    HostRow row{host, Health::kSeen, 0};
    for (const auto& [dev, health] : of) {
      row.worst = std::max(row.worst, health);
      row.bad += health > Health::kOk ? 1 : 0;
    }
    out.push_back(std::move(row));
  }
  std::sort(out.begin(), out.end(), [](const HostRow& a, const HostRow& b) {
    // Hosts of which some HCAs are unused are as well as those that use all.
    const auto order = [](const HostRow& row) {
      return std::pair(std::max(row.worst, Health::kOk), row.bad);
    };
    if (order(a) != order(b)) return order(a) > order(b);
    return log::natural_less(a.host, b.host);
  });
  return out;
}

std::string row_text(const std::string& host, const std::map<std::string, Health>& of,
                     const std::vector<std::string>& devices) {
  std::string out = "<tr><th>" + html_text(host) + "</th>";
  for (const auto& dev : devices) {
    const auto found = of.find(dev);
    if (found == of.end()) {
      out += "<td></td>";
      continue;
    }
    const char* const name = kHealthNames[static_cast<std::size_t>(found->second)];
    out += fmt::format("<td class=\"{}\" title=\"{} of {}: {}\">{}</td>", name, html_text(dev),
                       html_text(host), name, found->second == Health::kGuilty ? "!" : "");
  }
  return out + "</tr>\n";
}

}  // namespace

std::string host_map(const Report& report) {
  const auto hcas = health_of(report);
  std::set<std::string> known;
  for (const auto& [host, of] : hcas)
    for (const auto& [dev, health] : of) known.insert(dev);
  if (known.empty()) return {};
  std::vector<std::string> devices(known.begin(), known.end());
  std::sort(devices.begin(), devices.end(), log::natural_less);
  std::string rows;
  std::size_t shown = 0;
  for (const auto& row : worst_first(hcas)) {
    if (shown == kMostHosts) break;
    rows += row_text(row.host, hcas.at(row.host), devices);
    ++shown;
  }
  std::string out =
      "<h2>Hosts and HCAs</h2>\n<p class=\"key\"><span class=\"guilty\">to blame</span>"
      "<span class=\"failed\">part in what fails</span><span class=\"warned\">warned of</span>"
      "<span class=\"ok\">connected</span><span class=\"seen\">not used</span></p>\n"
      "<div class=\"wide\"><table class=\"map\"><thead><tr><th></th>";
  for (const auto& dev : devices) out += "<th>" + html_text(dev) + "</th>";
  out += "</tr></thead><tbody>\n" + rows + "</tbody></table></div>\n";
  if (shown < hcas.size())
    out += fmt::format("<p>{} more hosts, with no more to tell.</p>\n", hcas.size() - shown);
  return out;
}

}  // namespace nnd::cli
