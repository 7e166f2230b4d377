// Who waits for whom, drawn for a page.
#pragma once

#include <string>

#include "report/report.h"

namespace nnd::cli {

// Each process that waits, once; on the left who is waited for at last. The same as a table. Empty:
// nobody waits.
std::string wait_graph(const report::Report& report);

}  // namespace nnd::cli
