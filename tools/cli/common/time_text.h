// A wall clock's time, in ns since 1970, as UTC has it.
#pragma once

#include <cstdint>
#include <string>

namespace nnd::cli {

std::string day_text(std::int64_t ns);     // "2026-11-24"
std::string clock_text(std::int64_t ns);   // "21:04:05.123"
std::string time_text(std::int64_t ns);    // "2026-11-24 21:04:05.123 UTC"
std::string second_text(std::int64_t ns);  // "2026-11-24 21:04:05 UTC"

}  // namespace nnd::cli
