// What one end of an attempt logged, as far as it tells about the pair. Events of the process's
// start, which every attempt has, are left out.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "cli/common/checked_json.h"
#include "log/job.h"

namespace nnd::cli {

struct AttemptEvents {
  std::optional<log::Transition> used;   // addresses and MTU as the QPs had them
  std::optional<log::Diagnosis> first;   // what tells why it failed
  std::vector<log::Diagnosis> rules;     // the policy's words on the pair
  std::vector<log::Diagnosis> troubles;  // every event of the pair that is no info

  void add(const log::Event& event);
};

// The events of a log; a log that is missing has none.
AttemptEvents read_attempt(const std::filesystem::path& log);

nlohmann::json to_json(const AttemptEvents& events);
AttemptEvents attempt_events_from(const Fields& fields);  // throws BadMessage

}  // namespace nnd::cli
