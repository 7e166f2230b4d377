#include "cli/explain/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "cli/common/call_error.h"
#include "cli/common/exit_code.h"
#include "cli/common/text_table.h"
#include "cli/explain/search.h"
#include "diagnosis/catalogue.h"
#include "nccl_net_diag/causes.h"

namespace nnd::cli {

namespace {

using nccl_net_diag::CauseEntry;
using nccl_net_diag::kCauses;
using nccl_net_diag::Named;
using nlohmann::json;

json to_json(const CauseEntry& entry) {
  const auto& about = diagnosis::explain(entry.cause);
  return {{"id", entry.id},
          {"title", entry.title},
          {"severity", nccl_net_diag::severity_name(entry.severity)},
          {"reach", nccl_net_diag::reach_name(entry.reach)},
          {"named_by_events", entry.named == Named::kNow},
          {"means", about.means},
          {"recognised", about.recognised},
          {"remedy", about.remedy}};
}

Answer list() {
  Answer out;
  out.judges = false;
  out.verdict =
      fmt::format("{} causes; `nccl-net-diag explain CAUSE` explains one.", kCauses.size());
  out.body["causes"] = json::array();
  for (const auto& entry : kCauses) out.body["causes"].push_back(to_json(entry));
  out.page = [](const Screen& screen) {
    TextTable table({"cause", "what"});
    for (const auto& entry : kCauses) table.add({std::string(entry.id), std::string(entry.title)});
    return table.render(screen);
  };
  return out;
}

CallError unknown(const std::string& wanted) {
  const auto near = nearest_known(wanted);
  return {kWrongCall, "unknown-cause",
          fmt::format("there is no cause {}; {}", wanted,
                      near.empty() ? "`nccl-net-diag explain` lists them"
                                   : fmt::format("did you mean {}?", near)),
          wanted, near};
}

json to_json(const std::vector<Match>& matches) {
  auto out = json::array();
  for (const auto& match : matches) {
    out.push_back(to_json(*match.entry));
    out.back()["because"] = match.why;
  }
  return out;
}

std::string rows_of(const std::vector<Match>& matches, const Screen& screen) {
  TextTable table({"cause", "what", "because of"});
  for (const auto& match : matches)
    table.add({std::string(match.entry->id), std::string(match.entry->title), match.why});
  return table.render(screen);
}

std::vector<std::string> lines_of(const std::vector<Match>& matches) {
  std::vector<std::string> out;
  for (const auto& match : matches)
    out.push_back(fmt::format("{}: {}", match.entry->id, match.entry->title));
  return out;
}

Answer choice(const std::string& wanted, const std::vector<Match>& matches) {
  Answer out;
  out.judges = false;
  out.verdict = fmt::format(
      "{} may mean {} causes, the likeliest first; `nccl-net-diag explain {}` explains the first.",
      wanted, matches.size(), matches.front().entry->id);
  out.page = [matches](const Screen& screen) { return rows_of(matches, screen); };
  out.brief = [matches] { return lines_of(matches); };
  return out;
}

Answer explanation(const std::vector<Match>& matches) {
  const auto& entry = *matches.front().entry;
  const auto& about = diagnosis::explain(entry.cause);
  Answer out;
  out.judges = false;
  out.verdict = fmt::format("{}: {}.", entry.id, entry.title);
  out.body = to_json(entry);
  out.page = [&about, &entry, matches](const Screen& screen) {
    const auto part = [&screen](const char* title, std::string_view text) {
      return screen.wrap(fmt::format("{}: {}", screen.paint(title, Colour::kBold), text), 2) + "\n";
    };
    auto page = part("Means", about.means) + part("Recognised by", about.recognised) +
                part("What to do", about.remedy);
    if (!about.example.empty()) page += part("For example", about.example);
    if (entry.named != Named::kNow) page += "No event names it yet.\n";
    if (matches.size() > 1)
      page += "\nIt may be another one as well:\n" +
              rows_of({matches.begin() + 1, matches.end()}, screen);
    return page;
  };
  return out;
}

}  // namespace

Answer explain_cause(const std::string& wanted) {
  constexpr std::size_t kMost = 12;  // where more fit, the words say little
  if (wanted.empty()) return list();
  auto matches = search(wanted);
  if (matches.empty()) throw unknown(wanted);
  matches.resize(std::min(matches.size(), kMost), matches.front());
  const bool clear = matches.size() == 1 || matches[0].strength > matches[1].strength;
  Answer out = clear ? explanation(matches) : choice(wanted, matches);
  out.body["matches"] = to_json(matches);
  return out;
}

}  // namespace nnd::cli
