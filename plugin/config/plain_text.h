// Text from outside, as a line for people may show it.
#pragma once

#include <string>
#include <string_view>

namespace nnd::config {

// Nothing in it ends a line or steers a terminal.
bool is_plain(std::string_view text) noexcept;
// With a '?' in place of each byte that does.
std::string plain(std::string_view text);

}  // namespace nnd::config
