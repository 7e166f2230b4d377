// A dump of PyTorch's Flight Recorder: the collectives that one rank was given,
// and how far each is.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nnd::foreign {

struct FlightCall {
  std::int64_t seq = 0;  // of its process group's collectives, from 1
  std::string what;      // "all_reduce"
  std::string state;     // "scheduled", "started", "completed"
  std::string sizes;     // of the inputs: "[65536] Float"
  std::string place;     // where the program calls it: "train.py:212 in step";
                         // empty: not told
};

struct FlightGroup {
  std::string name, description;
  std::vector<int> ranks;  // of the job; empty: not told
  // Collectives; sends and receives are left out.
  FlightCall last;                     // seq 0: none
  std::vector<FlightCall> unfinished;  // the first of them, in order
};

struct FlightDump {
  std::optional<int> rank;  // by the file's name: no dump tells it
  std::string file, version;
  bool by_watchdog = false;  // no dump, but what the watchdog printed (watchdog.h)
  std::int64_t first_ns = 0,
               last_ns = 0;  // wall time: when the calls in it were made
  std::vector<FlightGroup> groups;
};

// Unset: it is a pickle of something else. Throws PickleError.
std::optional<FlightDump> read_flight_dump(const std::string& file, std::string_view bytes);

// The same as JSON, which has no frames of the program. Unset: it is JSON of something else. Throws
// PickleError.
std::optional<FlightDump> read_flight_json(const std::string& file, std::string_view bytes);
bool may_be_flight_json(std::string_view begin);

}  // namespace nnd::foreign
