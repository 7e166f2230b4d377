// A report on other programs' files as one page that needs nothing else.
#pragma once

#include <string>

#include "cli/common/page_origin.h"
#include "cli/report/words.h"
#include "foreign/evidence.h"
#include "report/others.h"

namespace nnd::cli {

std::string others_html(const report::ForeignFindings& others, const foreign::Evidence& evidence,
                        const Words& words, const PageOrigin& origin);

}  // namespace nnd::cli
