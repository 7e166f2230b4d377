#include "cli/report/job_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/common/printable.h"
#include "cli/report/text.h"
#include "cli/report/verdict.h"

namespace nnd::cli {

namespace {

// That some were read is of no interest to who has just run them.
Words without_reading(Words words) {
  std::erase_if(words.parts, [](const Passage& part) { return part.title == "Read"; });
  return words;
}

}  // namespace

std::string JobReport::failed(const std::string& what,
                              const std::vector<std::string>& failures) const {
  if (found_cause) return fmt::format("{}. {}", what, words.verdict);
  return fmt::format("{}: {}. The event logs show no cause.", what, fmt::join(failures, "; "));
}

std::string JobReport::in_spite() const { return found_cause ? " But: " + words.verdict : ""; }

std::string JobReport::page(const Screen& screen) const {
  return found_cause ? report_page(words, screen) : "";
}

JobReport report_of(const std::string& directory) {
  const auto input = report::read_input(report::files_of({directory}));
  const auto report = report::analyse(input);
  JobReport out;
  if (report.picture.members.empty()) return out;
  out.found_cause = report.found_cause();
  out.words = without_reading(words_of(report, input));
  out.words.verdict = printable(out.words.verdict);
  out.body = {{"kind", report::name_of(report.kind)},
              {"blame", report::name_of(report.blame)},
              {"verdict", out.words.verdict}};
  if (auto cause = named_cause(report); !cause.empty()) out.body["cause"] = std::move(cause);
  auto& words = out.body["words"] = nlohmann::json::array();
  for (const auto& part : out.words.parts)
    words.push_back({{"title", part.title}, {"lines", part.lines}});
  return out;
}

}  // namespace nnd::cli
