// A report in the trace event format, which ui.perfetto.dev and chrome://tracing open.
#pragma once

#include <ostream>

#include "report/report.h"

namespace nnd::cli {

// A process each, its connections below it: made, ready, closed, with failures on them; stalls, and
// counters of each process and of all.
void write_perfetto(std::ostream& out, const report::Report& report);

}  // namespace nnd::cli
