// Ranks and channels, many of them in few words.
#pragma once

#include <set>
#include <string>

namespace nnd::cli {

// "0-3,6"; a dash for none.
std::string number_list(const std::set<int>& numbers);
// "rank 3", "ranks 0-3,6"; empty for none.
std::string rank_list(const std::set<int>& ranks);

}  // namespace nnd::cli
