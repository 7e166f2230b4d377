// An allocation's verdict, for people and for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/common/screen.h"
#include "cli/preflight/allocation.h"

namespace nnd::cli {

// One sentence or two; problems: what could not be examined.
std::string verdict_of(const Allocation& allocation, const std::vector<std::string>& problems);
std::string page_of(const Allocation& allocation, const std::vector<std::string>& problems,
                    const Screen& screen);
std::vector<std::string> lines_of(const Allocation& allocation);  // one for each finding
nlohmann::json to_json(const Allocation& allocation, const std::vector<std::string>& problems);

}  // namespace nnd::cli
