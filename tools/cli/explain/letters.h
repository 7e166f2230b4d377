// Words in texts, whatever their letter case.
#pragma once

#include <string>
#include <string_view>

namespace nnd::cli {

std::string lower(std::string_view text);
// Whether it stands there as words, not as a part of one.
bool holds_words(std::string_view text, std::string_view words);
// The same, where a longer word may go on behind it: "resolv" of "resolved".
bool holds_start(std::string_view text, std::string_view start);

}  // namespace nnd::cli
