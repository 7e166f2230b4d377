// A report as one page that needs nothing else: no network, no other file.
#pragma once

#include <string>

#include "cli/common/page_origin.h"
#include "cli/report/words.h"

namespace nnd::cli {

std::string report_html(const report::Report& report, const Words& words, const PageOrigin& origin);

}  // namespace nnd::cli
