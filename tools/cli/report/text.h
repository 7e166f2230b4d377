// A report on a screen.
#pragma once

#include <string>

#include "cli/common/screen.h"
#include "cli/report/words.h"

namespace nnd::cli {

// At most 30 lines with the verdict above it, on a screen of 80 columns; all of it on a verbose
// one.
std::string report_page(const Words& words, const Screen& screen);

}  // namespace nnd::cli
