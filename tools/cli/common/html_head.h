// How a page begins, and what a browser may do with it: show it, and run the script that is its
// own. What a log or a host's name smuggles in does nothing.
#pragma once

#include <string>
#include <string_view>

namespace nnd::cli {

// From <!DOCTYPE html> to <body>, titled "nccl-net-diag COMMAND", with the style. `script`: what
// stands in the page's only element of that name, to the last character; empty: there is none.
std::string html_head(std::string_view command, std::string_view style, std::string_view script);

}  // namespace nnd::cli
