// A file that another program reads at any time.
#pragma once

#include <string>
#include <string_view>

namespace nnd::cli {

// Readers see what was there before, or all of `text`. The errno with which that failed; 0: it is
// there. What stands in the way of the temporary file, PATH and the process id, is not followed
// where it is a link.
int replace_file(const std::string& path, std::string_view text);

}  // namespace nnd::cli
