// Hosts and their HCAs by health, drawn for a page.
#pragma once

#include <string>

#include "report/report.h"

namespace nnd::cli {

// A row for each host, the worst first. Empty: no HCA is known.
std::string host_map(const report::Report& report);

}  // namespace nnd::cli
