// Where waits end, in words: who is late, and where the ranks of a communicator are.
#pragma once

#include <string>

#include "report/report.h"

namespace nnd::cli {

// "AllReduce #12 (1048576 bytes)"
std::string task_text(const log::Task& task);
// Where ranks of a communicator are, and where the others.
std::string apart_text(const report::Report& report, const report::Apart& apart);
// Those of a ring, inside of different communicators.
bool are_in_several_communicators(const report::Report& report, const report::Sink& sink);
std::string sink_text(const report::Report& report, const report::Sink& sink);

}  // namespace nnd::cli
