// The parts of a check's result. Internal to check.
#pragma once

#include <nlohmann/json.hpp>

#include "cli/check/examine.h"

namespace nnd::cli {

nlohmann::json hcas_json(const Checked& checked);  // one entry per port, or per unusable HCA
// As NCCL's own IB transport would have it without a policy.
nlohmann::json transport_json(const facts::Node& node);
std::string transport_trouble(const facts::Node& node);  // its init fails or crashes; else empty
nlohmann::json gpudirect_json(const facts::Node& node);
nlohmann::json limits_json(const Checked& checked);
nlohmann::json system_json(const facts::Node& node);
// NCCL_* and UCX_*, with values as they may be shown.
nlohmann::json variables_json(const facts::System& system);
nlohmann::json verdicts_json(const std::vector<policy::Verdict>& verdicts);
nlohmann::json lint_json(const Checked& checked);
nlohmann::json proposal_json(const Checked& checked);

}  // namespace nnd::cli
