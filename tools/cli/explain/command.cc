#include "cli/explain/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <vector>

#include "cli/common/call_error.h"
#include "cli/common/exit_code.h"
#include "cli/common/text_table.h"
#include "config/nearest.h"
#include "diagnosis/catalogue.h"
#include "nccl_net_diag/causes.h"

namespace nnd::cli {

namespace {

using nccl_net_diag::CauseEntry;
using nccl_net_diag::kCauses;
using nccl_net_diag::Named;
using nlohmann::json;

const CauseEntry& find(const std::string& wanted) {
  std::string id = wanted;
  std::transform(id.begin(), id.end(), id.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  if (const auto cause = nccl_net_diag::find_cause(id)) return nccl_net_diag::cause_entry(*cause);
  std::vector<std::string_view> ids;
  for (const auto& entry : kCauses) ids.push_back(entry.id);
  const auto near = config::nearest(id, ids);
  throw CallError(kWrongCall, "unknown-cause",
                  fmt::format("there is no cause {}; {}", wanted,
                              near.empty() ? "`nccl-net-diag explain` lists them"
                                           : fmt::format("did you mean {}?", near)),
                  wanted, near);
}

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

}  // namespace

Answer explain_cause(const std::string& wanted) {
  if (wanted.empty()) return list();
  const auto& entry = find(wanted);
  const auto& about = diagnosis::explain(entry.cause);
  Answer out;
  out.judges = false;
  out.verdict = fmt::format("{}: {}.", entry.id, entry.title);
  out.body = to_json(entry);
  out.page = [&about, &entry](const Screen& screen) {
    const auto part = [&screen](const char* title, std::string_view text) {
      return screen.wrap(fmt::format("{}: {}", screen.paint(title, Colour::kBold), text), 2) + "\n";
    };
    auto page = part("Means", about.means) + part("Recognised by", about.recognised) +
                part("What to do", about.remedy);
    if (!about.example.empty()) page += part("For example", about.example);
    if (entry.named != Named::kNow) page += "No event names it yet.\n";
    return page;
  };
  return out;
}

}  // namespace nnd::cli
