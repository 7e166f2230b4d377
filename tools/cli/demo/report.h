// What a job's event logs say, as tables for a person or as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "log/job.h"

namespace nnd::cli {

// {"processes", "hcas", "connections", "troubles"}: one object per process, HCA port, connection,
// and event of severity warn or error; by rank.
nlohmann::json to_json(const log::Job& job);

std::string render(const log::Job& job);

}  // namespace nnd::cli
