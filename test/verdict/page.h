// A line for each job that was played, and what all of them say together.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "verdict/root_page.h"

namespace nnd::verdict {

struct Line {
  unsigned long seed = 0;
  std::string nccl = {}, shape = {}, fault = {}, truth = {}, ending = {}, collected = {};
  std::string judged = {}, why = {}, said = {};
  double cpu_sec = 0;
  std::string no_peers = {};        // why its processes could not ask each other
  std::vector<LogLine> logs = {};   // each alone; empty where that was not asked
  std::vector<LogLine> alone = {};  // the report on one of them; at most one
};

nlohmann::json to_json(const Line& line);
Line line_of(const nlohmann::json& json);
std::string text_of(const Line& line);
std::string roots_of(const Line& line);  // what is not right of its logs; empty: nothing

struct Score {
  int jobs = 0, right = 0, accused = 0, acquitted = 0;
  double right_percent() const { return jobs == 0 ? 0 : 100.0 * right / jobs; }
};
Score score_of(const std::vector<Line>& lines);

std::string summary(const std::vector<Line>& lines);  // with the confusion table
std::vector<LogLines> logs_of(const std::vector<Line>& lines);
std::string alone_summary(const std::vector<Line>& lines);
std::string page(const std::vector<Line>& lines);  // docs/verdict.md

}  // namespace nnd::verdict
