// What a check came to: for programs, for people, and as an exit code.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "cli/check/examine.h"

namespace nnd::cli {

enum class FailOn { kRefuse, kWarn };

struct CheckDemands {
  FailOn fail_on = FailOn::kRefuse;
  std::optional<std::size_t> expect_hcas;  // devices that must be usable, at least
};

// All that is known of the node; docs/check.md names the keys. ["result"]["exit_code"] is the
// tool's.
nlohmann::json check_result(const Checked& checked, const CheckDemands& demands);

// The result for a terminal, or without colour for a pipe.
std::string render_check(const nlohmann::json& result, bool colour);

}  // namespace nnd::cli
