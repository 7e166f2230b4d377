// What the code under test logged, through the real recorder.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

// Before anything is to be logged.
void start_log();

// The events of this name in this case, since the last call for it, oldest first.
std::vector<nlohmann::json> take_events(const std::string& name);
