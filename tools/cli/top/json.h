// A view for programs (docs/top.md).
#pragma once

#include <nlohmann/json.hpp>

#include "cli/top/view.h"

namespace nnd::cli {

// The members beside those that every subcommand has.
nlohmann::json top_json(const View& view);

}  // namespace nnd::cli
