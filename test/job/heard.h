// What `nccl-net-diag report` says of a job, as its user gets it: first sentence, exit code, blame.
#pragma once

#include <filesystem>
#include <string>

#include "report/conclusion.h"

namespace nnd::test {

struct Heard {
  std::string line, kind, blame;
  int exit_code = -1;
};

// Of the logs and boxes in there.
Heard report_of(const std::filesystem::path& dir);

struct Expected {
  report::Kind kind;
  report::Blame blame;
  std::string begins;  // the sentence
  std::string has = {};
};

// Catch2 assertions.
void check(const Heard& heard, const Expected& expected);

}  // namespace nnd::test
