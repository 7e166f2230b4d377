// The order that people expect of names with numbers in them: rank2 before rank10.
#pragma once

#include <string_view>

namespace nnd::log {

bool natural_less(std::string_view a, std::string_view b);

}  // namespace nnd::log
