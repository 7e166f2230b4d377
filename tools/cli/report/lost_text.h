// What verdict.h's sentence is where processes died, or ended by themselves, before anything
// failed.
#pragma once

#include <string>

#include "report/report.h"

namespace nnd::cli {

std::string lost_text(const report::Report& report);

}  // namespace nnd::cli
