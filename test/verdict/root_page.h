// What the logs of a job said, each by itself, and what those of all jobs say together.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace nnd::verdict {

struct LogLine {
  int rank = 0;
  std::string judged = {}, why = {}, said = {};
  std::optional<double> delay_sec = std::nullopt;
};

nlohmann::json to_json(const LogLine& line);
LogLine log_line_of(const nlohmann::json& json);
// Whether a job's line has to be shown for it.
bool is_fine(const LogLine& line);
std::string text_of(const LogLine& line);

struct RootScore {
  int judged = 0, right = 0;
  bool accused = false;  // or acquitted, or an alarm
  double right_percent() const { return judged == 0 ? 100 : 100.0 * right / judged; }
};

// The logs of all jobs with one fault, or one log each of all jobs.
struct LogLines {
  std::string fault;
  std::vector<LogLine> logs;
  bool calls_told = true;  // this release tells the plugin what the program calls
};

RootScore root_score_of(const std::vector<LogLines>& jobs);
std::string root_summary(const std::vector<LogLines>& jobs);

}  // namespace nnd::verdict
