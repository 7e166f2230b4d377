// When what was told, drawn for a page.
#pragma once

#include <string>

#include "report/report.h"

namespace nnd::cli {

// A lane for each host that has something to tell, the earliest first, and the same as a table.
// Empty: nobody has.
std::string time_line(const report::Report& report);

}  // namespace nnd::cli
