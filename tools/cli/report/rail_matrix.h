// Who talks to whom, drawn for a page.
#pragma once

#include <string>

#include "report/report.h"

namespace nnd::cli {

// Devices by devices, all hosts together: connections, bytes, what fails. Empty: there are none.
std::string rail_matrix(const report::Report& report);

}  // namespace nnd::cli
