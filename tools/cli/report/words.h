// A report in words: one sentence, and what it rests on, part by part.
#pragma once

#include <string>
#include <vector>

#include "report/report.h"

namespace nnd::cli {

struct Passage {
  std::string title;               // "Since", "What to do"
  std::vector<std::string> lines;  // the most important first
};

struct Words {
  std::string verdict;
  std::vector<Passage> parts;
};

Words words_of(const report::Report& report, const report::Input& input);

}  // namespace nnd::cli
