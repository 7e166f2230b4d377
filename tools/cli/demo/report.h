// What a job's event logs say, as tables for a person or as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/common/screen.h"
#include "log/job.h"

namespace nnd::cli {

// {"processes", "hcas", "connections", "troubles"}: one object per process, HCA port, connection,
// and event of severity warn or error; by rank.
nlohmann::json to_json(const log::Job& job);

// "2 ranks, 36 connections over 18 HCAs"
std::string what_was_used(const log::Job& job);
std::string demo_page(const log::Job& job, const Screen& screen);
std::vector<std::string> demo_lines(const log::Job& job);  // one per rank

}  // namespace nnd::cli
