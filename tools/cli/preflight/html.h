// An allocation's verdict as a page that needs no other file.
#pragma once

#include <string>
#include <vector>

#include "cli/common/page_origin.h"
#include "cli/preflight/allocation.h"

namespace nnd::cli {

std::string preflight_html(const Allocation& allocation, const std::vector<std::string>& problems,
                           const PageOrigin& origin);

}  // namespace nnd::cli
