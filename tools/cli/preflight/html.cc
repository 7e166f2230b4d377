#include "cli/preflight/html.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/common/html_text.h"
#include "cli/common/markup.h"
#include "cli/common/page_policy.h"
#include "cli/common/text_table.h"
#include "cli/common/version.h"
#include "cli/preflight/show.h"

namespace nnd::cli {

namespace {

constexpr std::string_view kStyle = R"(
:root { color-scheme: light dark; --line: #8884; }
body { font: 14px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
.verdict { font-size: 1.1rem; padding: .6rem .9rem; border-left: .4rem solid #1a7f37; background: #1a7f3718; }
.verdict.broken { border-color: #cf222e; background: #cf222e18; }
.about { color: GrayText; } .bad { color: #cf222e; font-weight: 600; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; }
th, td { border: 1px solid var(--line); padding: .2rem .45rem; text-align: left; vertical-align: top; }
pre { padding: .75rem; border: 1px solid var(--line); overflow-x: auto; }
ul.nodes { columns: 12rem; }
@media print { body { font-size: 9px; margin: 0; max-width: none; } .wide, pre { overflow: visible; } tr { break-inside: avoid; } }
)";

std::string findings_part(const Allocation& allocation) {
  std::string rows;
  for (const Finding& one : allocation.findings)
    rows += markup_row({text_of(one.weight), fmt::format("{}", fmt::join(one.hosts, ", ")),
                        or_dash(one.device), or_dash(one.cause), one.text, one.remedy});
  return rows.empty() ? rows
                      : "<h2>What was found</h2>\n" +
                            markup_table({"", "nodes", "HCA", "cause", "seen", "what to do"}, rows);
}

std::string nodes_part(const Allocation& allocation) {
  std::string out =
      fmt::format("<h2>Nodes: {}</h2>\n<ul class=\"nodes\">\n", allocation.hosts.size());
  for (const auto& host : allocation.hosts) {
    const auto& bad = allocation.leave_out;
    const bool left_out = std::find(bad.begin(), bad.end(), host) != bad.end();
    out += fmt::format("<li{}>{}</li>\n", left_out ? " class=\"bad\"" : "", html_text(host));
  }
  return out + "</ul>\n";
}

std::string lines_part(const std::string& title, const std::string& lines) {
  return lines.empty()
             ? lines
             : fmt::format("<h2>{}</h2>\n<pre>{}</pre>\n", html_text(title), html_text(lines));
}

}  // namespace

std::string preflight_html(const Allocation& allocation, const std::vector<std::string>& problems,
                           const PageOrigin& origin) {
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\">\n{}<title>nccl-net-diag preflight</title>\n"
      "<style>{}</style></head><body>\n<h1>nccl-net-diag preflight</h1>\n",
      page_policy(kStyle, {}), kStyle);
  out += fmt::format("<p class=\"verdict{}\">{}</p>\n",
                     allocation.go() && problems.empty() ? "" : " broken",
                     html_text(verdict_of(allocation, problems)));
  for (const auto& problem : problems) out += "<p class=\"bad\">" + html_text(problem) + "</p>\n";
  out += fmt::format("<p class=\"about\">{}<br><code>{}</code><br>nccl-net-diag {}</p>\n",
                     html_text(origin.when), html_text(origin.command), tool_version());
  out += findings_part(allocation);
  if (allocation.pairs != 0)
    out += fmt::format("<p>Pairs of HCAs that can talk: {} of {} that were tried.</p>\n",
                       allocation.talked, allocation.pairs);
  if (allocation.ranks != 0)
    out +=
        fmt::format("<p>A job of {} ranks, one a node: every byte right.</p>\n", allocation.ranks);
  out += nodes_part(allocation);
  if (!allocation.leave_out.empty())
    out += lines_part("To leave them out",
                      fmt::format("sbatch --exclude={}", fmt::join(allocation.leave_out, ",")));
  out += lines_part("Environment for a job",
                    fmt::format("{}", fmt::join(allocation.environment, "\n")));
  return out + "</body></html>\n";
}

}  // namespace nnd::cli
