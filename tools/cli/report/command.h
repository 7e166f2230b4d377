// `nccl-net-diag report PATH...`: one verdict for a whole job.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/common/answer.h"

namespace nnd::cli {

struct ReportOptions {
  std::vector<std::string> paths;
  std::optional<int> expected_ranks;
  std::string html;                        // the result as a page in this file, too
  std::string perfetto;                    // and as a trace
  std::string command;                     // as it was called, for the page
  std::string job;                         // only jobs of this id; empty: all
  std::optional<std::size_t> incarnation;  // of that one; unset: see report/jobs.h
  bool why = false;                        // the causal model, too
  bool follow = false;                     // until Ctrl-C, the verdict each time it changes
};

Answer report_job(const ReportOptions& options, const Calling& calling);

}  // namespace nnd::cli
