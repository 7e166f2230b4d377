// What a job says of itself with the plugin and without, and the table of the differences that are
// expected (docs/nccl-on-off.md).
#pragma once

#include <filesystem>
#include <map>
#include <regex>
#include <string>
#include <vector>

namespace nnd::test {

// The lines of a text, each with how often it is there.
using Lines = std::map<std::string, int>;

// What NCCL printed or dumped, without what differs between any two runs: who printed it,
// addresses, ports, numbers of QPs, CPU cores, durations, the job's own directory.
Lines comparable_lines(const std::string& text, const std::filesystem::path& job_directory);

// A row of the table.
struct ExpectedDifference {
  enum class Side { kOff, kOn, kVaries };
  Side side;                                // where the line is, or is more often
  int first_release = 0, last_release = 0;  // as NCCL numbers them: 21803
  std::string text;                         // of the pattern
  std::regex pattern;                       // the whole line, as comparable_lines() gives it
};

// Throws std::runtime_error when a row can't be read or there is none.
std::vector<ExpectedDifference> read_expected_differences(const std::filesystem::path& document);

// Differences that no row of this release explains, each with its side; `used` is set for the rows
// that explained one.
std::vector<std::string> unexplained(const Lines& off, const Lines& on,
                                     const std::vector<ExpectedDifference>& rows, int release,
                                     std::vector<bool>& used);

}  // namespace nnd::test
