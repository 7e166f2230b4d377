// The tool's exit codes, the same for every subcommand.
#pragma once

namespace nnd::cli {

inline constexpr int kFine = 0;
inline constexpr int kBroken = 1;       // something is refused or does not work
inline constexpr int kWrongCall = 2;    // the call or its input was wrong
inline constexpr int kNotExamined = 3;  // it could not be examined

}  // namespace nnd::cli
