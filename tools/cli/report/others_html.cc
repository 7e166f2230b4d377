#include "cli/report/others_html.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "cli/common/text_table.h"
#include "cli/report/names.h"
#include "cli/report/others_text.h"
#include "cli/report/page.h"
#include "cli/report/restart_text.h"

namespace nnd::cli {

using foreign::Fact;
using foreign::What;
using report::ForeignFindings;

namespace {

constexpr std::size_t kMostRows = 5'000;  // of a table

// What a line is to the verdict, those that it rests on first; null: it only tells of the job.
std::pair<int, const char*> part_of(const Fact& fact, const ForeignFindings& others) {
  if (&fact == others.headline()) return {0, "what it failed of"};
  if (&fact == others.first) return {1, "first failure"};
  if (std::find(others.alike.begin(), others.alike.end(), &fact) != others.alike.end())
    return {2, "the same"};
  switch (fact.what) {
    case What::kFailure:
      return {3, "failure"};
    case What::kSign:
      return {3, "sign"};
    case What::kKilled:
    case What::kCrashed:
    case What::kHung:
    case What::kGpu:
      return {3, "kernel"};
    case What::kRaised:
      return {3, "exception"};
    case What::kEnded:
      return {3, "end"};
    case What::kCancelled:
      return {3, "cancelled"};
    case What::kEcho:
      return {4, "echo"};
    case What::kAborted:
      return {5, "given up"};
    case What::kRelease:
    case What::kRank:
    case What::kHca:
    case What::kHcaPath:
    case What::kTransport:
    case What::kNetApi:
    case What::kNoHca:
      break;
  }
  return {0, nullptr};
}

std::string whose(const Fact& fact) {
  if (fact.source == foreign::Source::kKernelLog)
    return fact.writer.host.empty() ? "a kernel" : "the kernel of " + fact.writer.host;
  const bool told = !fact.writer.host.empty() || fact.writer.rank;
  return told ? (fact.on_node ? "local " : "") + writer_text(fact.writer) : "-";
}

PageRow line_row(const Fact& fact, const char* part) {
  return {part,
          whose(fact),
          or_dash(device_text(fact)),
          or_dash(id_of_cause(fact)),
          fact.text,
          foreign::name_of(fact.source),
          fmt::format("{}:{}", fact.file, fact.line),
          std::to_string(fact.count)};
}

// One that a file's facts make, or empty where there is none.
std::string table(const char* title, const char* id, const std::vector<std::string>& headings,
                  const std::vector<PageRow>& rows, std::size_t all) {
  if (rows.empty()) return {};
  auto out = fmt::format("<h2>{}</h2>\n", title) + data_table(id, headings, rows);
  if (all > rows.size())
    out += fmt::format("<p>{} more are in the files.</p>\n", all - rows.size());
  return out;
}

std::string lines(const ForeignFindings& others, const foreign::Evidence& evidence) {
  struct Line {
    int order;
    const char* part;
    const Fact* fact;
  };
  std::vector<Line> all;
  for (const auto& fact : evidence.facts())
    if (const auto [order, part] = part_of(fact, others); part != nullptr)
      all.push_back({order, part, &fact});
  std::stable_sort(all.begin(), all.end(),
                   [](const Line& a, const Line& b) { return a.order < b.order; });
  std::vector<PageRow> rows;
  for (const auto& line : all)
    if (rows.size() < kMostRows) rows.push_back(line_row(*line.fact, line.part));
  return table("Lines that this rests on", "lines",
               {"as", "who", "device", "cause", "line", "of", "where", "times"}, rows, all.size());
}

// What each rank had called last, by Flight Recorder or a watchdog.
std::string calls(const foreign::Evidence& evidence) {
  std::vector<PageRow> rows;
  std::size_t all = 0;
  for (const auto& dump : evidence.dumps)
    for (const auto& group : dump.groups)
      if (++all <= kMostRows)
        rows.push_back({or_dash(dump.rank), or_dash(group.description), call_text(group.last),
                        or_dash(group.last.place),
                        group.unfinished.empty() ? "-" : call_text(group.unfinished.front()),
                        dump.by_watchdog ? "watchdog" : "Flight Recorder", dump.file});
  return table("Collectives of each rank", "calls",
               {"rank", "group", "last called", "at", "waits in", "by", "file"}, rows, all);
}

std::string files(const foreign::Evidence& evidence) {
  std::vector<PageRow> rows;
  for (const auto& problem : evidence.problems) rows.push_back({problem, "not read"});
  for (const auto& file : evidence.files) rows.push_back({file, "read"});
  const auto all = rows.size();
  rows.resize(std::min(all, kMostRows));
  return table("Files", "files", {"file", "was"}, rows, all);
}

std::string about_job(const ForeignFindings& others, const foreign::Evidence& evidence) {
  std::vector<std::string> parts;
  if (others.processes != 0)
    parts.push_back(fmt::format("{} on {}", count_of(others.processes, "process", "processes"),
                                count_of(others.hosts.size(), "host", "hosts")));
  for (const auto& release : others.releases) parts.push_back("NCCL " + release);
  if (!others.transports.empty())
    parts.push_back(fmt::format("over {}", fmt::join(others.transports, " and ")));
  parts.push_back(count_of(evidence.files.size(), "file", "files") +
                  " of other programs, and no event log");
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace

std::string others_html(const ForeignFindings& others, const foreign::Evidence& evidence,
                        const Words& words, const PageOrigin& origin) {
  auto shown = words;
  const auto to_do = std::find_if(shown.parts.begin(), shown.parts.end(),
                                  [](const Passage& part) { return part.title == "What to do"; });
  shown.parts.insert(to_do == shown.parts.end() ? to_do : to_do + 1,
                     {"To start it again", restart_lines(report::restart_of(others))});
  const bool doubtful = others.noted != nullptr || others.raised || others.ended != nullptr ||
                        others.killed != nullptr || !others.kernel.empty();
  return page_head() +
         page_verdict(others.found() ? "bad"
                      : doubtful     ? "warn"
                                     : "good",
                      shown, about_job(others, evidence), origin) +
         lines(others, evidence) + calls(evidence) + files(evidence) + page_end();
}

}  // namespace nnd::cli
