// Words for whom a job waited for, as its processes told each other (report/named.h).
#pragma once

#include <string>

#include "report/report.h"

namespace nnd::cli {

// Only where report.named is.
std::string named_text(const report::Report& report);

}  // namespace nnd::cli
