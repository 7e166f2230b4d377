// What a browser may do with a page: show it, and run the script that is its own. What a log or a
// host's name smuggles in does nothing.
#pragma once

#include <string>
#include <string_view>

namespace nnd::cli {

// The element of the head that says so. `style` and `script`: what stands in the page's only
// elements of these names, to the last character; an empty one: there is none.
std::string page_policy(std::string_view style, std::string_view script);

}  // namespace nnd::cli
