// Who talks to whom and who waits for whom, drawn for a page.
#pragma once

#include <string>

#include "report/report.h"

namespace nnd::cli {

// Devices by devices, all hosts together: connections, bytes, what fails. Empty: there are none.
std::string rail_matrix(const report::Report& report);

// Waiting processes, from those that they wait for at last on the left. Empty: nobody waits.
std::string wait_graph(const report::Report& report);

}  // namespace nnd::cli
