// The errno that a program printed as text.
#pragma once

#include <optional>
#include <string_view>

namespace nnd::foreign {

// "Cannot allocate memory", "Unknown error -12"; of glibc, in English.
std::optional<int> errno_in(std::string_view text);

}  // namespace nnd::foreign
