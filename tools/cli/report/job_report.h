// What `report` says of the logs of a job that another subcommand has run: one verdict for both.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/common/screen.h"
#include "cli/report/words.h"

namespace nnd::cli {

struct JobReport {
  bool found_cause = false;
  nlohmann::json body;  // of the report's: "kind", "blame", "verdict", "cause", "words"
  Words words;

  // "The job failed." and why; `failures`: what the ranks told, where the logs show no cause.
  std::string failed(const std::string& what, const std::vector<std::string>& failures) const;
  // What a job that went well has to say besides; empty: nothing.
  std::string in_spite() const;
  // Of one that didn't: what the verdict rests on.
  std::string page(const Screen& screen) const;
};

// Of the logs and black boxes in this directory; without any: that nothing is known.
JobReport report_of(const std::string& directory);

}  // namespace nnd::cli
