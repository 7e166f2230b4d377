// A report in words: one sentence, and what it rests on, part by part.
#pragma once

#include <string>
#include <vector>

#include "report/report.h"

namespace nnd::cli {

struct Part {
  std::string title;               // "Since", "What to do"
  std::vector<std::string> lines;  // the most important first
};

struct Words {
  std::string verdict;
  std::vector<Part> parts;
};

Words words_of(const report::Report& report, const report::Input& input);

// "21:04:05.123"
std::string clock_text(report::Ns at);
// "rank 5 (node2)", "ranks 0-7 (node0)", "12 ranks on 3 hosts", "node0 pid 12"
std::string who(const report::Picture& picture, const std::vector<std::size_t>& members);
std::string place_text(const report::Place& place);
std::string culprit_text(const report::Culprit& culprit);
// The cause that the verdict names; empty: none.
std::string named_cause(const report::Report& report);

}  // namespace nnd::cli
