// What the kernels of a job's nodes told, in words.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "report/report.h"

namespace nnd::cli {

// "was killed by the kernel for lack of memory (python, pid 4711, anon-rss 412.30 GB)"
std::string kernel_end_text(const foreign::Fact& told);
// What to do about that.
std::string kernel_end_remedy(const foreign::Fact& told);

// Of a process of the job that its kernel ended.
std::string verdict_of_kernel(const report::Report& report);
// " The kernel of node5 told 3.0 s before: ..."; empty: none told why it failed.
std::string kernel_sign_text(const report::Report& report);

// Each of what is known to be of the job, with its place in a file.
std::vector<std::string> kernel_lines(const report::Report& report);
nlohmann::json kernel_json(const report::Report& report);

}  // namespace nnd::cli
