// What to type to see more of whoever is to blame.
#pragma once

#include <string>
#include <vector>

#include "report/report.h"

namespace nnd::cli {

// "ssh node1 py-spy dump --pid 4711": commands to copy, the most telling first; none where nobody
// is known.
std::vector<std::string> commands_to_look(const report::Report& report);

}  // namespace nnd::cli
