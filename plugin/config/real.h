// Numbers in texts: a job's locale may have another decimal point, and strtod obeys it.
#pragma once

#include <optional>
#include <string_view>

namespace nnd::config {

// The number that the text begins with, which is taken off it.
std::optional<double> take_real(std::string_view& text);

}  // namespace nnd::config
