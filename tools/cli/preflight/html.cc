#include "cli/preflight/html.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "cli/common/html_text.h"
#include "cli/common/markup.h"
#include "cli/common/plain_page.h"
#include "cli/common/text_table.h"
#include "cli/preflight/show.h"

namespace nnd::cli {

namespace {

constexpr std::string_view kStyle = "ul.nodes { columns: 12rem; }\n";
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
  std::string out = begin_page(
      {"preflight", kStyle, verdict_of(allocation, problems), allocation.go() && problems.empty()});
  for (const auto& problem : problems) out += bad_line(problem);
  out += page_about(origin);
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
  return out + end_page();
}

}  // namespace nnd::cli
