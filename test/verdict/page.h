// A line for each job that was played, and what all of them say together.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace nnd::verdict {

struct Line {
  unsigned long seed = 0;
  std::string nccl = {}, shape = {}, fault = {}, truth = {}, ending = {}, collected = {};
  std::string judged = {}, why = {}, said = {};
  double cpu_sec = 0;
};

nlohmann::json to_json(const Line& line);
Line line_of(const nlohmann::json& json);
std::string text_of(const Line& line);

struct Score {
  int jobs = 0, right = 0, accused = 0, acquitted = 0;
  double right_percent() const { return jobs == 0 ? 0 : 100.0 * right / jobs; }
};
Score score_of(const std::vector<Line>& lines);

std::string summary(const std::vector<Line>& lines);  // with the confusion table
std::string page(const std::vector<Line>& lines);     // docs/verdict.md

}  // namespace nnd::verdict
