// A job as its logs and boxes show it: who took part, where, when (in one clock for all hosts), and
// how it ended for each.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "report/input.h"
#include "report/span.h"

namespace nnd::report {

enum class Ending : std::uint8_t {
  kClean,    // it wrote its summary
  kRunning,  // its box is held
  kDied,     // its box is there, and nobody holds it
  kCutOff  // the log just ends, and there is no box: killed, still running, or its box is elsewhere
};

struct Member {
  const log::Process* log = nullptr;
  const Box* box = nullptr;  // null: none
  std::string file;          // its log; empty: only a box
  Ending ending = Ending::kCutOff;
  std::size_t host = 0;    // of Picture::hosts
  Ns first = 0, last = 0;  // signs of life
  // For how long at least it lived on without a sign of life: when its box was read, or as far as
  // others saw that its process was there.
  Ns silent = 0;
  std::optional<int> rank;  // of the job
};

// Its log breaks off in the middle of a line, and nothing else tells of its end.
inline bool lacks_its_end(const Member& member) {
  return member.ending == Ending::kCutOff && member.log->cut_off;
}

struct Host {
  std::string name;
  std::vector<std::size_t> members;
  Ns ahead = 0;           // by how much its clock is ahead of the first host's, as far as is known
  Ns uncertain = 0;       // by as much to either side
  bool compared = false;  // something tells of it
};

// An HCA of a host: the same for all processes there.
struct Place {
  std::string host, dev;  // empty: not known
  std::string subnet;     // of the address in use
  int port = 0;           // only where the HCA has several in use

  auto operator<=>(const Place&) const = default;
};

struct Picture {
  std::vector<Member> members;  // by rank, then by host and process id
  std::vector<Host> hosts;      // in natural order
  log::Ends ends;
  std::unordered_map<std::string, std::size_t> by_proc;
  std::unordered_map<std::string, Place> by_gid;                    // addresses that one HCA has
  std::map<std::pair<std::string, int>, std::size_t> by_comm_rank;  // communicator, rank in it
  std::multimap<std::string, std::size_t> by_listener;              // "10.0.0.12:40211"
  std::set<std::string> several;  // communicators that share their hash: not compared
  std::optional<int> world_size;  // as launchers and NCCL say
  Ns first = 0, last = 0;

  std::size_t earlier_runs = 0;       // that these logs tell of as well, and which are left out
  std::size_t earlier_processes = 0;  // of those

  Ns at(std::size_t member, std::uint64_t mono_ns) const;
  const Host& host_of(std::size_t member) const { return hosts[members[member].host]; }
  // The process at the other end: as the event says, or as the connection shows.
  std::optional<std::size_t> peer_of(std::size_t member, const log::Peer& peer,
                                     std::optional<std::uint64_t> conn,
                                     const log::Link& link = {}) const;
  // The other process whose NCCL listened at the address; none: nobody is known to have, or
  // several.
  std::optional<std::size_t> listener_at(std::size_t member, const std::string& address) const;
  Place place_of(std::size_t member, const log::Dev& dev) const;
  Place peer_place(std::size_t member, const log::Peer& peer,
                   std::optional<std::uint64_t> conn) const;
};

// One of the jobs that the input tells of (report/jobs.h), by default the last. Points into the
// input.
Picture picture_of(const Input& input, std::optional<std::size_t> run = {});

}  // namespace nnd::report
