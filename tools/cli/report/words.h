// A report in words: the sentence of verdict.h, and what it rests on, part by part.
#pragma once

#include <string>
#include <vector>

#include "report/jobs.h"
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

// One of the jobs that were found.
struct JobLine {
  report::JobRun run;
  std::string kind, blame, verdict;
  bool judged = false;  // the report is about it
};
// "job 77, incarnation 2, 08:00:00 to 08:01:30, 64 processes: healthy: ..."
std::vector<std::string> job_lines(const std::vector<JobLine>& jobs);

// " This is of the start at 08:00:00; of the last, at 08:04:10: healthy.", where another one than
// the last is judged.
std::string later_start_text(const std::vector<JobLine>& jobs);

Words words_of(const report::Report& report, const report::Input& input);

}  // namespace nnd::cli
