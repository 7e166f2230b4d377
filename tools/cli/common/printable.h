// Text that came from another process, for a terminal.
#pragma once

#include <string>

namespace nnd::cli {

// Control characters, of which terminals take commands, become '?'; line breaks too, so that
// nobody can forge a line. UTF-8 stays.
std::string printable(std::string text);
// The same with line breaks, for text that no foreign name brings a line break into.
std::string printable_lines(const std::string& text);

}  // namespace nnd::cli
