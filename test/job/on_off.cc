#include "job/on_off.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace nnd::test {
namespace {

std::string without_what_varies(std::string line, const std::string& job_directory) {
  static const std::array<std::pair<std::regex, const char*>, 6> kVaries = {{
      {std::regex(R"(^.*NCCL (INFO|WARN) )"), ""},
      {std::regex(R"(0x[0-9a-f]+)"), "0x#"},
      {std::regex(R"(<[0-9]+>)"), "<#>"},
      {std::regex(R"((qpn |qp_num[ =]|CPU core |(send|recv) connection )[0-9]+)"), "$1#"},
      {std::regex(R"(^(.*timings.*total).*)"), "$1 #"},
      {std::regex(R"(\s+$)"), ""},
  }};
  for (auto at = line.find(job_directory); at != std::string::npos; at = line.find(job_directory))
    line.replace(at, job_directory.size(), "JOB");
  for (const auto& [what, instead] : kVaries) line = std::regex_replace(line, what, instead);
  return line;
}

std::string trimmed(const std::string& cell) {
  const auto first = cell.find_first_not_of(" `"), last = cell.find_last_not_of(" `");
  return first == std::string::npos ? "" : cell.substr(first, last - first + 1);
}

std::vector<std::string> cells(const std::string& row) {
  std::vector<std::string> found;
  std::istringstream stream(row.substr(1));
  for (std::string cell; std::getline(stream, cell, '|');) found.push_back(trimmed(cell));
  return found;
}

int release(const std::string& text) {
  int major = 0, minor = 0, patch = 0;
  if (std::sscanf(text.c_str(), "%d.%d.%d", &major, &minor, &patch) != 3)
    throw std::runtime_error("\"" + text + "\" is no release");
  return major * 10000 + minor * 100 + patch;
}

ExpectedDifference parse(const std::vector<std::string>& row) {
  using Side = ExpectedDifference::Side;
  constexpr std::size_t kColumns = 4;  // side, releases, line, reason
  if (row.size() != kColumns || row[3].empty())
    throw std::runtime_error("a row has four columns, the last a reason");
  const auto dash = row[1].find(" to ");
  ExpectedDifference made;
  made.side = row[0] == "off" ? Side::kOff : row[0] == "on" ? Side::kOn : Side::kVaries;
  made.first_release = release(row[1]);
  made.last_release =
      dash == std::string::npos ? made.first_release : release(row[1].substr(dash + 4));
  made.text = row[2];
  made.pattern = std::regex(row[2]);
  return made;
}

}  // namespace

Lines comparable_lines(const std::string& text, const std::filesystem::path& job_directory) {
  Lines lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);)
    if (std::string kept = without_what_varies(line, job_directory.string()); !kept.empty())
      ++lines[kept];
  return lines;
}

std::vector<ExpectedDifference> read_expected_differences(const std::filesystem::path& document) {
  std::vector<ExpectedDifference> rows;
  std::ifstream stream(document);
  for (std::string line; std::getline(stream, line);)
    if (line.starts_with("| off ") || line.starts_with("| on ") || line.starts_with("| varies "))
      try {
        rows.push_back(parse(cells(line)));
      } catch (const std::exception& error) {
        throw std::runtime_error(document.string() + ": " + line + ": " + error.what());
      }
  if (rows.empty()) throw std::runtime_error(document.string() + ": no table");
  return rows;
}

std::vector<std::string> unexplained(const Lines& off, const Lines& on,
                                     const std::vector<ExpectedDifference>& rows, int release,
                                     std::vector<bool>& used) {
  using Side = ExpectedDifference::Side;
  const auto count = [](const Lines& lines, const std::string& line) {
    const auto found = lines.find(line);
    return found == lines.end() ? 0 : found->second;
  };
  Lines all = off;
  all.insert(on.begin(), on.end());
  std::vector<std::string> left;
  for (const auto& [line, ignored] : all) {
    const int without = count(off, line), with = count(on, line);
    if (without == with) continue;
    const Side side = without > with ? Side::kOff : Side::kOn;
    bool explained = false;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const ExpectedDifference& row = rows[i];
      if ((row.side != side && row.side != Side::kVaries) || release < row.first_release ||
          release > row.last_release || !std::regex_match(line, row.pattern))
        continue;
      explained = used[i] = true;
    }
    if (!explained) left.push_back(std::string(side == Side::kOff ? "off" : "on") + ": " + line);
  }
  return left;
}

}  // namespace nnd::test
