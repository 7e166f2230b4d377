// The written list of what verbs must do. Each case has a name, an expectation for people, and a
// function that returns nothing when the expectation is met, else what was seen.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "conformance/bench.h"

namespace conformance {

struct Case {
  const char* name;
  const char* expectation;
  std::function<std::string(Bench&)> run;
};

const std::vector<Case>& state_cases();
const std::vector<Case>& data_cases();
const std::vector<Case>& error_cases();

// "expected 22, got 0", or nothing.
std::string expect_number(const char* what, long expected, long got);
// The next completion of the queue: id and status, or what was seen instead.
std::string expect_completion(ibv_cq* cq, std::uint64_t id, int status, int opcode = -1);

}  // namespace conformance
