// A ping's result as a page that needs no other file.
#pragma once

#include <string>

#include "cli/common/page_origin.h"
#include "cli/ping/result.h"

namespace nnd::cli {

std::string render_ping_html(const PingResult& result, const PageOrigin& origin);

}  // namespace nnd::cli
