// Logs of a job that never ran: N ranks on nodes of eight GPUs and eight HCAs, and one fault whose
// guilty is known. Everything else is drawn from a seed: delays, clocks that differ, which
// processes tell of a failure and which only end.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace nnd::synth {

enum class Fault : std::uint8_t {
  kNone,
  kCable,          // of one HCA: all its connections fail
  kCableTold,      // likewise, and its port says that it went down
  kRail,           // the switch of one rail
  kWrongSubnet,    // one HCA has an address outside its rail's subnet
  kMemlock,        // of one node
  kNodeDied,       // all processes of a node, at once
  kRankDied,       // one process
  kRankLeft,       // one process ends by itself
  kRankMissing,    // one process never came
  kRankIdle,       // one process asks for nothing any more
  kStuckHca,       // one HCA sends nothing, and nothing fails yet
  kSlowHca,        // one HCA sends slowly
  kOtherVariable,  // one node has another setting, and nothing comes of it
  kPlane,          // half of the rails
  kPort,           // one port of an HCA that has two
  kMismatched,     // one process took another collective than the others
  kCount
};
const char* name_of(Fault fault);

struct Spec {
  int ranks = 64;
  std::uint64_t seed = 1;
  Fault fault = Fault::kNone;
  Fault second = Fault::kNone;  // at once, elsewhere: a cable, a slow HCA or another variable
  int more_connections = 0;     // of each rank: makes the logs longer
  double clocks_sec = 0;        // hosts' clocks are off by so much at most
  int hours_ago = 0;            // it was
  bool shuffled = false;        // ranks, hosts and HCAs have other names
};

// What was planted.
struct Planted {
  std::string host, dev;  // empty: no host, no HCA is guilty
  std::optional<int> rank;
  struct Place {
    std::string host, dev;
  };
  std::optional<Place> second;
};

// What happens to logs until somebody reads them.
struct Surroundings {
  double missing = 0;      // share of the logs that nobody collected
  int cut = 0;             // logs of processes without guilt that were cut off somewhere
  bool last_line = false;  // every last line ends in the middle
  bool earlier = false;    // the same job had run before, an hour ago
  bool others = false;     // other programs' files, and copies
};
void disturb(const Spec& spec, const Planted& planted, const Surroundings& surroundings,
             const std::filesystem::path& directory);

// A log for each process, in this directory.
Planted write_job(const Spec& spec, const std::filesystem::path& directory);

}  // namespace nnd::synth
