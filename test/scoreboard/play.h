// One job of the table, played as a real NCCL job on the emulated fabric.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "scoreboard/entry.h"

namespace nnd::scoreboard {

struct Seen {
  std::vector<nlohmann::json> events = {};  // of all ranks, by time; each with its "rank"
  std::uint64_t fault_ns = 0;  // CLOCK_MONOTONIC; 0: the fault was there from the start
  std::string nccl = {};       // NCCL's own first warning, of whichever rank; or empty
  std::uint64_t nccl_ns = 0;   // when it came, like fault_ns
  std::string ras = {};        // what NCCL's RAS said (ras.h), asked once: see play()
  std::string headline = {};   // the first paragraph that `report` prints of all logs and boxes
  int report_exit = -1;
  std::string trouble = {};  // why the job was no job: empty where it was
  bool ok = false;           // it did what it was to do
};

// What of it an event has, of those with its name, cause and severity.
struct Fit {
  bool device = false, peer = false, remedy = false, sentence = false;
  bool whole() const { return device && peer && remedy && sentence; }
};
Fit fit(const nlohmann::json& event, const Expected& expected);

// The first event that names the mode, wholly or else partly; null: not named.
const nlohmann::json* find_named(const Seen& seen, const Expected& expected);

// World::job is one of
//   collectives   a communicator, some all-reduces, its end
//   many          the same with hundreds of them
//   missing       rank 1 leaves out a collective that rank 0 is in
//   dies          rank 1 kills itself between two collectives
//   resent        many, and a port counts more and more packets that are sent again
//   two-versions  collectives, and rank 1 has another NCCL
//   few-files     collectives, with most of the files open that a process may open
// until: the job is ended when this was told; null: it ends by itself.
// RAS is asked before the job is ended; or, of one that ends by itself, when a rank's collectives
// are done or NCCL has failed in it.
Seen play(const World& world, const std::string& policy, const Expected* until);

}  // namespace nnd::scoreboard
