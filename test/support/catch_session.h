// What every Catch2 program here ends with. The framework's own code is compiled once, behind this.
#pragma once

namespace nnd::test {

// The exit code that ctest shows as "Skipped" (SKIP_RETURN_CODE).
inline constexpr int kSkipped = 77;

// Runs the cases that the arguments name. 0: all passed; kSkipped: none failed, and at least one
// could not be run here (skip.h); else the number of failed assertions.
int run_cases(int argc, char** argv);

// For the initialisation of a variable: what is done before each case of this program. One at most.
bool before_each_case(void (*what)());

}  // namespace nnd::test
