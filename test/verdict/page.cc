#include "verdict/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>

#include "verdict/judge.h"

namespace nnd::verdict {

namespace {

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

using Counts = std::map<std::string, int>;  // by judgement

std::vector<std::string> classes() {
  std::vector<std::string> out;
  for (int i = 0; i < kClasses; ++i) out.push_back(name_of(static_cast<Class>(i)));
  return out;
}

std::string table(const std::string& title, const std::vector<Line>& lines,
                  const std::function<std::string(const Line&)>& key) {
  std::map<std::string, Counts> rows;
  for (const Line& line : lines) ++rows[key(line)][line.judged];
  std::string out = fmt::format("| {} |", title), rule = "\n| --- |";
  for (const std::string& one : classes()) {
    out += " " + one + " |";
    rule += " --- |";
  }
  out += rule + "\n";
  for (const auto& [name, counts] : rows) {
    out += "| " + name + " |";
    for (const std::string& one : classes()) {
      const auto count = counts.find(one);
      out += count == counts.end() ? "  |" : fmt::format(" {} |", count->second);
    }
    out += "\n";
  }
  return out;
}

}  // namespace

nlohmann::json to_json(const Line& line) {
  return {{"seed", line.seed},     {"nccl", line.nccl},           {"shape", line.shape},
          {"fault", line.fault},   {"truth", line.truth},         {"ending", line.ending},
          {"judged", line.judged}, {"collected", line.collected}, {"why", line.why},
          {"said", line.said},     {"cpu_sec", line.cpu_sec}};
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
          .cpu_sec = json.at("cpu_sec")};
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
  return table("fault", lines, [](const Line& line) { return line.fault; }) +
         fmt::format(
             "\n{} jobs, {:.1f} % right, network accused {} times, acquitted {} times; {:.1f} s of "
             "CPU time a job\n",
             score.jobs, score.right_percent(), score.accused, score.acquitted,
             lines.empty() ? 0 : cpu / static_cast<double>(lines.size()));
}

std::string page(const std::vector<Line>& lines) {
  std::string confused;
  for (const Line& line : lines)
    if (line.judged != name_of(Class::kRight) && line.judged != name_of(Class::kHonest))
      confused += fmt::format("- {}\n", text_of(line));
  return kIntro + summary(lines) + "\n" +
         table("ended", lines, [](const Line& line) { return line.ending; }) + "\n" +
         table("collected", lines, [](const Line& line) { return line.collected; }) + "\n" +
         table("release", lines, [](const Line& line) { return line.nccl; }) +
         "\n## What was confused\n\n" + confused;
}

}  // namespace nnd::verdict
