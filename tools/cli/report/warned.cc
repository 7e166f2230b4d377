#include "cli/report/warned.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "cli/report/names.h"
#include "report/meaning.h"

namespace nnd::cli {

using report::Report;

namespace {

// Of one cause.
struct Warned {
  std::vector<std::string> devices, hosts;
  std::size_t errors = 0;
};

void note(std::vector<std::string>& list, const std::string& one) {
  if (!one.empty() && std::find(list.begin(), list.end(), one) == list.end()) list.push_back(one);
}

// What two ends have unlike, either may tell: all ends together show whose it is.
void name_who_differs(Warned& warned, const std::string& cause, const Report& report) {
  for (const auto& odd : report.odd) {
    const auto meaning = report::meaning_of(odd.what);
    if (!meaning || !meaning->of_end || !meaning->cause ||
        nccl_net_diag::cause_id(*meaning->cause) != cause)
      continue;
    warned.hosts.clear();
    for (const auto& one : odd.others)
      for (const auto& who : one.who) note(warned.hosts, who);
    std::sort(warned.hosts.begin(), warned.hosts.end());
    warned.devices = {report::device_of(odd.what)};
    return;
  }
}

}  // namespace

std::string warned_text(const Report& report) {
  std::map<std::string, Warned> all;
  for (const auto& member : report.picture.members)
    for (const auto& told : member.log->diagnoses) {
      if (told.severity == log::Severity::kInfo || told.cause.empty()) continue;
      Warned& warned = all[told.cause];
      note(warned.devices, told.dev.name);
      note(warned.hosts, member.log->host);
      warned.errors += told.severity == log::Severity::kError;
    }
  if (all.empty()) return {};
  for (auto& [cause, warned] : all) name_who_differs(warned, cause, report);
  std::vector<std::pair<std::size_t, std::string>> order;
  for (const auto& [cause, warned] : all) order.emplace_back(warned.errors, cause);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  constexpr std::size_t kMost = 2;
  std::vector<std::string> out;
  for (std::size_t i = 0; i < std::min(order.size(), kMost); ++i) {
    const Warned& warned = all[order[i].second];
    const auto devices = warned.devices.empty() ? "" : list(warned.devices) + " of ";
    out.push_back(
        fmt::format("{}{}: {}", devices, list(warned.hosts), cause_text(order[i].second)));
  }
  const std::string more =
      order.size() > kMost ? fmt::format("; and {} more", order.size() - kMost) : "";
  return fmt::format("{}{}", fmt::join(out, "; "), more);
}

}  // namespace nnd::cli
