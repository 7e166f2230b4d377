// Text that came from elsewhere, in a page.
#pragma once

#include <string>
#include <string_view>

namespace nnd::cli {

// For element content and for attributes in double quotes. Control characters become '?'.
std::string html_text(std::string_view text);

}  // namespace nnd::cli
