// What looks at the black boxes show together: how much moves now, and what waits.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/top/look.h"

namespace nnd::cli {

// From these ages on a wait is named: as old as what the watch tells (docs/variables.md). What is
// younger, healthy jobs show all the time.
inline constexpr double kStallSec = 10, kConnectSec = 5;
// Without a sign of life for so long a process's box is not what is now: ten are due a second.
inline constexpr double kSilentSec = 5;

// Of completed requests, per second; unset: there was one look only, or the box has not changed.
struct Rate {
  std::optional<double> out, in;  // Gbit/s

  void add(const Rate& other);
};

struct ShownConnection {
  nccl_net_diag::box::ConnSlot slot{};
  std::uint64_t in_flight = 0;
  Rate rate;
  // No request has completed for so long, though there are some in flight; or it isn't ready.
  std::optional<double> wait_sec;

  bool sends() const;  // else it receives
  bool being_made() const;
  bool failed() const;
  bool waits_long() const;
};

// The connections of a process over one port of an HCA.
struct Rail {
  std::string hca;  // "mlx5_0:1"; a dash: not known
  std::size_t sends = 0, receives = 0, being_made = 0, failed = 0;
  std::uint64_t in_flight = 0;
  Rate rate;
  std::optional<double> wait_sec;  // the longest
  bool waits_long = false;         // one does
};

// What a communicator is in: the oldest task that began over the network and has not ended, else
// the last that it was given.
struct ShownCommunicator {
  nccl_net_diag::box::CommSlot slot{};
  nccl_net_diag::box::CommTask task{};
  bool alone = true;                // no other kind of task has begun and not ended
  std::optional<double> moved_sec;  // ago

  bool unfinished() const { return task.ops != task.ops_done; }
};

struct ShownProcess {
  int pid = 0;
  std::string host, proc;
  nccl_net_diag::box::FileHeader header{};
  std::optional<int> rank, nranks;   // in the job, as `report` counts
  std::optional<double> silent_sec;  // without a sign of life
  Rate rate;
  std::uint64_t in_flight = 0;
  std::vector<Rail> rails;                   // by name
  std::vector<ShownConnection> connections;  // by number
  std::vector<ShownCommunicator> communicators;
};

struct Ended {
  int pid = 0;
  std::optional<int> rank;
};

struct View {
  double seconds = 0;                   // since the look before; 0: it is the first
  std::vector<ShownProcess> processes;  // by host, rank and process id
  std::vector<Ended> ended;             // since the look before
  std::vector<Unread> unread;
};

// Looks in the order in which they were made.
class Tracker {
 public:
  View see(const Look& look);

 private:
  struct Before {
    std::uint64_t bytes = 0, ended = 0, in_flight = 0;
    std::uint64_t since_ns = 0;  // nothing has completed since, on the box's clock
  };
  struct Known {
    Ended who;
    std::uint64_t alive_ns = 0;
    std::map<std::uint32_t, Before> connections;
  };

  static ShownConnection show(const nccl_net_diag::box::ConnSlot& slot,
                              const nccl_net_diag::box::FileHeader& header, const Known* before,
                              Known& now);

  std::uint64_t mono_ns_ = 0;
  std::map<std::uint64_t, Known> known_;  // by proc
};

}  // namespace nnd::cli
