#include "verdict/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>

#include "verdict/judge.h"
#include "verdict/roots.h"
#include "verdict/table.h"

namespace nnd::verdict {

namespace {

constexpr const char* kRoots = R"(
## Each log alone

`verdict --roots` plays the same jobs with `NCCL_NET_DIAG_PEERS=on`, and judges the log of each rank by itself, in which one line says whom the job waits
for in the end: `job.stall`. The last that the log has before its process ended or was told to end counts, unless the job was healthy: then each counts.
Ranks that the fault's effect found alive are judged, for as long as they waited; of the guilty rank only what it says itself.

| the truth | right |
| --- | --- |
| a rank ended | `ended`, and that rank |
| a rank is alive and does not take part | `idle`, and that rank |
| a rank is stopped | `stopped`, and that rank |
| a rank is in another collective | `cycle`, and that rank is one of the two; or `idle`, where it waits for nobody |
| a node is lost | `ended` or `gone`, and any rank of that node |
| a port goes down | `port` or `failed`, any rank of that node, and no other HCA |
| anything else of the network, or a node's settings | `failed`, any rank of that node, and no other HCA; or `pair`, or `failed` with both ends named, of which that node has one; `port` too, where ports are down from the start |

Rank, host, pid and proc have to be those of one process; one that is named by its proc alone, or not at all, is *vague*. *not known* (counts as right): it failed at one end, and with so few nodes each is as likely; or a ring, by a release that does not tell
what its ranks are in. *vague*: nothing false, but of the guilty something else, or the guilty as the other end alone. *wrong*: somebody else.
*echo*: somebody else, who failed or ended, and only because of the fault or the job's end. *silent*: nobody, though the rank waited for two seconds (five where
a process does not answer any more) after `conn.stall`. *accused*: a `pair` or a `port`, and the network is innocent. *acquitted*: `idle`, `meets`, `stopped` or `cycle`, and the network is guilty. *alarm*: of a
healthy job, any at `warn`, or at `info` without a rank that was drawn to keep the others waiting; *drawn wait*: with one, and it is named.
*not due*: nobody, and nobody need be named: the rank did not wait in a connection, or not for long enough.
A line for each job tells of the logs that were not judged right; `--keep DIR` keeps them, in `all`. How long it took from `conn.stall`, or from when the wait was that old, is told of those that are right.

`--one-log` lets `report` read one log alone, of a rank drawn among those that the fault has left, and judges its first paragraph as above.
)";

constexpr const char* kIntro =
    R"(# Verdicts

Real NCCL jobs whose fault, place, moment, size, release, ending and collected logs are drawn from a seed, and what the first
paragraph of `nccl-net-diag report` says of each, its exit code and its `blame`, as a user reads them. The truth is known from the draw alone:
stock libnccl on the emulated fabric, 2 to 16 ranks on 2 to 4 nodes. The page is made by the program
(`build/test/verdict/verdict --seed N --runs N --page docs/verdict.md`); `ctest -L verdict` plays a few of the same jobs.

*right*: the guilty rank, node or HCA is named first, and what it was. *not known*: nobody innocent is named alone, and what would tell was not
collected, or was not there: mpirun ended all at once, a release up to 2.27 tells of no calls and it is said that collectives differ, or one pair alone failed and both its ends are named. *vague*: nothing false, but the guilty is not named, or not told from its peer, or with another story. *wrong*: somebody else is named.
*accused*: the network, which is innocent. *acquitted*: the network, which is guilty and whose log is there. *missed*: exit code 0.
*alarm*: of a healthy job. *no job*: it could not be played. `right` and `not known` count as right.

)";

std::vector<std::string> classes() {
  std::vector<std::string> out;
  for (int i = 0; i < kClasses; ++i) out.push_back(name_of(static_cast<Class>(i)));
  return out;
}

std::string table_by(const std::string& title, const std::vector<Line>& lines,
                     const std::function<std::string(const Line&)>& key) {
  std::map<std::string, Counts> rows;
  for (const Line& line : lines) ++rows[key(line)][line.judged];
  return table(title, rows, classes());
}

nlohmann::json jsons(const std::vector<LogLine>& lines) {
  nlohmann::json out = nlohmann::json::array();
  for (const LogLine& line : lines) out.push_back(to_json(line));
  return out;
}

std::vector<LogLine> log_lines(const nlohmann::json& json) {
  std::vector<LogLine> out;
  for (const auto& one : json) out.push_back(log_line_of(one));
  return out;
}

}  // namespace

nlohmann::json to_json(const Line& line) {
  return {{"seed", line.seed},        {"nccl", line.nccl},           {"shape", line.shape},
          {"fault", line.fault},      {"truth", line.truth},         {"ending", line.ending},
          {"judged", line.judged},    {"collected", line.collected}, {"why", line.why},
          {"said", line.said},        {"cpu_sec", line.cpu_sec},     {"no_peers", line.no_peers},
          {"logs", jsons(line.logs)}, {"alone", jsons(line.alone)}};
}

Line line_of(const nlohmann::json& json) {
  return {.seed = json.at("seed"),
          .nccl = json.at("nccl"),
          .shape = json.at("shape"),
          .fault = json.at("fault"),
          .truth = json.at("truth"),
          .ending = json.at("ending"),
          .collected = json.at("collected"),
          .judged = json.at("judged"),
          .why = json.at("why"),
          .said = json.at("said"),
          .cpu_sec = json.at("cpu_sec"),
          .no_peers = json.at("no_peers"),
          .logs = log_lines(json.at("logs")),
          .alone = log_lines(json.at("alone"))};
}

std::string text_of(const Line& line) {
  return fmt::format("{:5} {:6} {} {} ({}; {}): {}{} | {}", line.seed, line.nccl, line.shape,
                     line.truth, line.ending, line.collected, line.judged,
                     line.why.empty() ? "" : " (" + line.why + ")", line.said);
}

Score score_of(const std::vector<Line>& lines) {
  Score out;
  for (const Line& line : lines) {
    if (line.judged == name_of(Class::kNoJob)) continue;
    ++out.jobs;
    if (line.judged == name_of(Class::kRight) || line.judged == name_of(Class::kHonest))
      ++out.right;
    if (line.judged == name_of(Class::kAccused)) ++out.accused;
    if (line.judged == name_of(Class::kAcquitted)) ++out.acquitted;
  }
  return out;
}

std::string summary(const std::vector<Line>& lines) {
  const Score score = score_of(lines);
  double cpu = 0;
  for (const Line& line : lines) cpu += line.cpu_sec;
  return table_by("fault", lines, [](const Line& line) { return line.fault; }) +
         fmt::format(
             "\n{} jobs, {:.1f} % right, network accused {} times, acquitted {} times; {:.1f} s of "
             "CPU time a job\n",
             score.jobs, score.right_percent(), score.accused, score.acquitted,
             lines.empty() ? 0 : cpu / static_cast<double>(lines.size()));
}

namespace {

// A log that names the guilty rightly, and the report on it alone.
struct Told {
  const LogLine& log;
  const LogLine& report;
  bool same() const { return report.judged == name_of(Class::kRight); }
};
std::vector<Told> told_by_one(const Line& line) {
  std::vector<Told> out;
  for (const LogLine& report : line.alone)
    for (const LogLine& log : line.logs)
      if (log.rank == report.rank && log.judged == name_of(RootClass::kRight))
        out.push_back({log, report});
  return out;
}

}  // namespace

std::string roots_of(const Line& line) {
  std::string out;
  for (const LogLine& log : line.logs)
    if (!is_fine(log)) out += (out.empty() ? "" : "; ") + text_of(log);
  for (const Told& told : told_by_one(line))
    if (!told.same())
      out += fmt::format("{}rank {} says \"{}\", its report: {} | {}", out.empty() ? "" : "; ",
                         told.log.rank, told.log.said, told.report.judged, told.report.said);
  if (out.empty()) return out;
  return fmt::format("{:5} {:6} {} {} ({}), each log alone: {}", line.seed, line.nccl, line.shape,
                     line.truth, line.ending, out);
}

std::vector<LogLines> logs_of(const std::vector<Line>& lines) {
  std::vector<LogLines> out;
  for (const Line& line : lines)
    out.push_back({line.fault, line.logs, std::stoi(line.nccl.substr(2)) >= 23});
  return out;
}

std::string alone_summary(const std::vector<Line>& lines) {
  std::vector<Line> alone;
  for (const Line& line : lines)
    for (const LogLine& one : line.alone)
      alone.push_back({.fault = line.fault, .judged = one.judged});
  const Score score = score_of(alone);
  std::size_t told = 0, same = 0;
  for (const Line& line : lines)
    for (const Told& one : told_by_one(line)) {
      ++told;
      same += one.same() ? 1 : 0;
    }
  return table_by("report on one log", alone, [](const Line& line) { return line.fault; }) +
         fmt::format(
             "\n{} reports on one log alone: {} name the guilty, {:.1f} % do or say that it is not "
             "known; of {} logs that name the guilty while it hangs, {} reports do\n",
             score.jobs,
             std::count_if(alone.begin(), alone.end(),
                           [](const Line& line) { return line.judged == name_of(Class::kRight); }),
             score.right_percent(), told, same);
}

std::string page(const std::vector<Line>& lines) {
  std::string confused;
  for (const Line& line : lines)
    if (line.judged != name_of(Class::kRight) && line.judged != name_of(Class::kHonest))
      confused += fmt::format("- {}\n", text_of(line));
  return kIntro + summary(lines) + "\n" +
         table_by("ended", lines, [](const Line& line) { return line.ending; }) + "\n" +
         table_by("collected", lines, [](const Line& line) { return line.collected; }) + "\n" +
         table_by("release", lines, [](const Line& line) { return line.nccl; }) + kRoots +
         "\n## What was confused\n\n" + confused;
}

}  // namespace nnd::verdict
