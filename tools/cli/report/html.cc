#include "cli/report/html.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <map>
#include <set>
#include <vector>

#include "cli/common/text_table.h"
#include "cli/common/time_text.h"
#include "cli/report/host_map.h"
#include "cli/report/names.h"
#include "cli/report/page.h"
#include "cli/report/rail_matrix.h"
#include "cli/report/time_line.h"
#include "cli/report/wait_graph.h"

namespace nnd::cli {

using report::Ns;
using report::Picture;
using report::Report;

namespace {

constexpr std::size_t kMostEvidence = 5'000;  // lines of logs, that claims rest on

// "slurm job 4711; 64 processes on 8 hosts; 2026-01-01 08:00:00 to 08:10:00 (UTC); NCCL 2.28.9"
std::string about_job(const Picture& picture) {
  std::set<std::string> jobs, releases, versions;
  for (const auto& member : picture.members) {
    const auto& log = *member.log;
    if (!log.launch.job.empty())
      jobs.insert(fmt::format("{}{}job {}", log.launch.launcher,
                              log.launch.launcher.empty() ? "" : " ", log.launch.job));
    if (!log.nccl_version.empty()) releases.insert("NCCL " + log.nccl_version);
    if (!log.version.empty()) versions.insert("plugin " + log.version);
  }
  std::vector<std::string> parts(jobs.begin(), jobs.end());
  parts.push_back(fmt::format("{} on {}", count_of(picture.members.size(), "process", "processes"),
                              count_of(picture.hosts.size(), "host", "hosts")));
  const auto first_day = day_text(picture.first), last_day = day_text(picture.last);
  parts.push_back(fmt::format("{} {} to {}{} (UTC)", first_day, clock_text(picture.first),
                              first_day == last_day ? "" : last_day + " ",
                              clock_text(picture.last)));
  parts.insert(parts.end(), releases.begin(), releases.end());
  parts.insert(parts.end(), versions.begin(), versions.end());
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string head(const Report& report, const Words& words, const PageOrigin& origin) {
  const char* look = report.found_cause() ? "bad" : report.warned ? "warn" : "good";
  return page_verdict(look, words, about_job(report.picture), origin);
}

PageRow line_row(const Report& report, const char* what, std::size_t member,
                 const log::Diagnosis& told, Ns at) {
  const auto& one = report.picture.members[member];
  return {what,
          clock_text(at),
          who(report.picture, {member}),
          told.event,
          or_dash(told.cause),
          or_dash(told.msg),
          or_dash(told.fix),
          fmt::format("{} seq {}", or_dash(one.file), told.seq)};
}

// The lines that the verdict rests on.
std::string evidence(const Report& report) {
  std::vector<PageRow> rows;
  std::size_t all = 0;
  const auto add = [&](const char* what, std::size_t member, const log::Diagnosis& told, Ns at) {
    if (++all <= kMostEvidence) rows.push_back(line_row(report, what, member, told, at));
  };
  for (const auto& sign : report.first.signs) add("sign", sign.member, *sign.told, sign.at);
  for (const auto& root : report.first.roots) add("first cause", root.member, *root.told, root.at);
  for (const auto& wait : report.waits.network)
    add("network wait", wait.member, wait.stall->told, wait.since);
  for (const auto& wait : report.waits.waits)
    if (!wait.blames_network()) add("wait", wait.member, wait.stall->told, wait.since);
  for (const auto& other : report.first.other) add("other", other.member, *other.told, other.at);
  for (const auto& failure : report.first.followed)
    add("followed", failure.member, *failure.told, failure.at);
  if (rows.empty()) return {};
  auto out =
      "<h2>Lines that this rests on</h2>\n" +
      data_table("lines",
                 {"as", "at", "process", "event", "cause", "what was seen", "what to do", "log"},
                 rows);
  if (all > kMostEvidence)
    out += fmt::format("<p>{} more are in the logs.</p>\n", all - kMostEvidence);
  return out;
}

std::string processes(const Report& report) {
  const auto& picture = report.picture;
  std::map<std::size_t, std::size_t> failures, waits;
  for (const auto& failure : report.failures) ++failures[failure.member];
  for (const auto& wait : report.waits.waits) ++waits[wait.member];
  constexpr std::array<const char*, 4> kEndings{"clean", "running", "died", "log just ends"};
  std::vector<PageRow> rows;
  for (std::size_t i = 0; i < picture.members.size(); ++i) {
    const auto& member = picture.members[i];
    rows.push_back({or_dash(member.rank), member.log->host, std::to_string(member.log->pid),
                    kEndings[static_cast<std::size_t>(member.ending)],
                    std::to_string(member.log->connections.size()), std::to_string(failures[i]),
                    std::to_string(waits[i]), clock_text(member.first), clock_text(member.last),
                    or_dash(member.file)});
  }
  return "<h2>Processes</h2>\n" +
         data_table("processes",
                    {"rank", "host", "pid", "ended", "connections", "failures", "waits",
                     "first sign", "last sign", "log"},
                    rows);
}

}  // namespace

std::string report_html(const Report& report, const Words& words, const PageOrigin& origin) {
  return page_head() + head(report, words, origin) + host_map(report) + rail_matrix(report) +
         wait_graph(report) + time_line(report) + evidence(report) + processes(report) + page_end();
}

}  // namespace nnd::cli
