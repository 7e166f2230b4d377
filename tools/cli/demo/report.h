// What a job's event logs say, as tables for a person or as JSON. Everything is read from events.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace nnd::cli {

// {"processes", "hcas", "connections", "troubles", "events"}: one object per process, HCA port,
// connection, and event of severity warn or error.
nlohmann::json digest(const std::vector<nlohmann::json>& events);

// The digest as text.
std::string render(const nlohmann::json& digest);

}  // namespace nnd::cli
