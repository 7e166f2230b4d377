// What logs say, as JSON with the names of the event schema: for `--json`, and between processes of
// the tool. Reading throws BadMessage (checked_json.h).
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "cli/common/checked_json.h"
#include "log/job.h"
#include "log/reader.h"

namespace nnd::cli {

nlohmann::json to_json(const log::Dev& dev);
nlohmann::json to_json(const log::Peer& peer);
nlohmann::json to_json(const log::Link& link);
nlohmann::json to_json(const log::Diagnosis& diagnosis);

log::Dev dev_from(const Fields& fields);
log::Link link_from(const Fields& fields);
log::Direction direction_from(const Fields& fields);  // of its "dir"
log::Diagnosis diagnosis_from(const Fields& fields);

// "2 lines cut off, 1 that is no event": empty where all was read.
std::string left_out(const log::Counts& counts);

}  // namespace nnd::cli
