// "Did you mean": the known word that a misspelt one is closest to.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nnd::config {

// Insertions, deletions, replacements and swaps of neighbours that turn one word into the other;
// letter case does not count.
unsigned edit_distance(std::string_view a, std::string_view b);

// The closest of the known words, or empty when none is close enough to be meant.
std::string nearest(std::string_view word, const std::vector<std::string_view>& known);

}  // namespace nnd::config
