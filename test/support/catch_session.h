// What every Catch2 program here ends with. The framework's own code is compiled once, behind this.
#pragma once

namespace nnd::test {

// The exit code that ctest shows as "Skipped" (SKIP_RETURN_CODE).
inline constexpr int kSkipped = 77;

// Runs the cases that the arguments name. 0: all passed; kSkipped: none failed, and at least one
// could not be run here (skip.h); else the number of failed assertions.
int run_cases(int argc, char** argv);

}  // namespace nnd::test
