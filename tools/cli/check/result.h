// What a check came to: for programs, for people, and as an exit code.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/check/examine.h"
#include "cli/common/answer.h"

namespace nnd::cli {

enum class FailOn { kBrokenOnly, kRefuse, kWarn };

struct CheckDemands {
  FailOn fail_on = FailOn::kBrokenOnly;    // also where something is refused, or warned of
  std::optional<std::size_t> expect_hcas;  // devices that must be usable, at least
};

// All that is known of the node; docs/check.md names the keys.
nlohmann::json check_result(const Checked& checked, const CheckDemands& demands);

Answer check_answer(const Checked& checked, const CheckDemands& demands);

// The result for people: the page, and a line for each port.
std::string check_page(const nlohmann::json& result, const Screen& screen);
std::vector<std::string> check_lines(const nlohmann::json& result);

}  // namespace nnd::cli
