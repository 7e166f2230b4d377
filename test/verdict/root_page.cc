#include "verdict/root_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "verdict/roots.h"
#include "verdict/table.h"

namespace nnd::verdict {

namespace {

bool is(const LogLine& line, RootClass judged) { return line.judged == name_of(judged); }

bool is_right(const LogLine& line) {
  return is(line, RootClass::kRight) || is(line, RootClass::kHonest);
}

// The nearest rank; all: sorted, and not empty.
double percentile(const std::vector<double>& all, double percent) {
  const auto rank = std::ceil(percent / 100 * static_cast<double>(all.size()));
  return all[static_cast<std::size_t>(std::max(1.0, rank)) - 1];
}

std::string delays(const std::vector<LogLines>& jobs) {
  std::vector<double> all;
  for (const LogLines& job : jobs)
    for (const LogLine& line : job.logs)
      if (line.delay_sec) all.push_back(*line.delay_sec);
  if (all.empty()) return "";
  std::sort(all.begin(), all.end());
  return fmt::format(
      "From when a wait was to be told to the right name: median {:.2f} s, 99th "
      "percentile {:.2f} s, of {} logs\n",
      percentile(all, 50), percentile(all, 99), all.size());
}

}  // namespace

nlohmann::json to_json(const LogLine& line) {
  nlohmann::json out{
      {"rank", line.rank}, {"judged", line.judged}, {"why", line.why}, {"said", line.said}};
  if (line.delay_sec) out["delay_sec"] = *line.delay_sec;
  return out;
}

LogLine log_line_of(const nlohmann::json& json) {
  LogLine out{.rank = json.at("rank"),
              .judged = json.at("judged"),
              .why = json.at("why"),
              .said = json.at("said")};
  if (json.contains("delay_sec")) out.delay_sec = json["delay_sec"].get<double>();
  return out;
}

bool is_fine(const LogLine& line) {
  return is_right(line) || is(line, RootClass::kNotDue) || is(line, RootClass::kDrawn);
}

std::string text_of(const LogLine& line) {
  return fmt::format("rank {}: {}{}{}", line.rank, line.judged,
                     line.why.empty() ? "" : " (" + line.why + ")",
                     line.said.empty() ? "" : " | " + line.said);
}

RootScore root_score_of(const std::vector<LogLines>& jobs) {
  RootScore out;
  for (const LogLines& job : jobs)
    for (const LogLine& line : job.logs) {
      if (is(line, RootClass::kNotDue) || is(line, RootClass::kDrawn)) continue;
      ++out.judged;
      if (is_right(line)) ++out.right;
      out.accused = out.accused || is(line, RootClass::kAccused) ||
                    is(line, RootClass::kAcquitted) || is(line, RootClass::kAlarm);
    }
  return out;
}

std::string root_summary(const std::vector<LogLines>& jobs) {
  std::vector<std::string> classes;
  for (int i = 0; i < kRootClasses; ++i) classes.push_back(name_of(static_cast<RootClass>(i)));
  std::map<std::string, Counts> rows;
  Counts all;
  for (const LogLines& job : jobs)
    for (const LogLine& line : job.logs) {
      ++rows[job.fault][line.judged];
      ++all[line.judged];
    }
  std::string out = table("each log alone", rows, classes) + table_row("all", all, classes);
  const RootScore score = root_score_of(jobs);
  out += fmt::format("\n{} logs had to name somebody, or did: {:.1f} % right\n", score.judged,
                     score.right_percent());
  for (const bool told : {true, false}) {
    std::vector<LogLines> some;
    std::copy_if(jobs.begin(), jobs.end(), std::back_inserter(some),
                 [&](const LogLines& job) { return job.calls_told == told; });
    const RootScore of_some = root_score_of(some);
    out += fmt::format("of releases that tell {}: {} logs, {:.1f} % right\n",
                       told ? "what is called" : "nothing of it", of_some.judged,
                       of_some.right_percent());
  }
  return out + delays(jobs);
}

}  // namespace nnd::verdict
