// Times and sizes as people say them.
#pragma once

#include <cstdint>
#include <string>

namespace nnd::diagnosis {

std::string span_text(double sec);            // "31 ms", "4.2 s", "12 min", "3 h 12 min"
std::string bytes_text(std::uint64_t bytes);  // "512 B", "1.2 TB"

}  // namespace nnd::diagnosis
