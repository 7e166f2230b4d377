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
// Who has ended is shown for so long.
inline constexpr double kEndedSec = 600;
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
  double port_gbit = 0;            // Gbit/s of the port; 0: not known

  // Of what the port carries, in the busier direction.
  std::optional<double> of_port() const;
};

// What a communicator is in: the oldest task that began over the network and has not ended, else
// the last that it was given.
struct ShownCommunicator {
  nccl_net_diag::box::CommSlot slot{};
  nccl_net_diag::box::CommTask task{};
  bool alone = true;                // no other kind of task has begun and not ended
  std::optional<double> moved_sec;  // ago
  bool stuck = false;               // it does not move, and no request of the process ends either

  bool unfinished() const { return task.ops != task.ops_done; }
};

struct ShownProcess {
  int pid = 0;
  std::string user;  // whose it is; empty: of who looks
  std::string host, proc;
  std::string job;        // as its launcher calls it; empty: not known
  std::string job_id;     // "4711", likewise
  std::size_t group = 0;  // processes of one job have the same
  nccl_net_diag::box::FileHeader header{};
  std::optional<int> rank, nranks;   // in the job, as `report` counts
  std::optional<double> silent_sec;  // without a sign of life
  Rate rate;
  std::uint64_t in_flight = 0;
  std::vector<Rail> rails;                   // by name
  std::vector<ShownConnection> connections;  // by number
  std::vector<ShownCommunicator> communicators;

  enum class State : std::uint8_t { kWell, kWaits, kFailing };
  State state() const;
};

// A process that is no more, as it was seen last.
struct Ended {
  ShownProcess last;
  std::string box;       // of one that died: where its black box is
  double ago_sec = 0;    // since it was missed first
  bool just_now = true;  // since the look before
  bool died = false;     // it did not end by itself
  bool missed = false;   // others of its job go on
};

struct View {
  double seconds = 0;                   // since the look before; 0: it is the first
  std::uint64_t real_ns = 0;            // of the look; 0: not known
  std::vector<ShownProcess> processes;  // by host, rank and process id
  std::vector<Ended> ended;             // lately, the last first
  std::vector<Unread> unread;
  std::string ras;  // what NCCL's RAS says of them; empty: nothing, or it was not asked
};

// Looks in the order in which they were made.
class Tracker {
 public:
  explicit Tracker(uid_t viewer) : viewer_(viewer) {}

  View see(const Look& look);

 private:
  struct Before {
    std::uint64_t bytes = 0, ended = 0, in_flight = 0;
    std::uint64_t since_ns = 0;  // nothing has completed since, on the box's clock
  };
  struct Known {
    ShownProcess shown;
    std::string box;
    std::uint64_t alive_ns = 0;
    std::map<std::uint32_t, Before> connections;
  };
  struct Gone {
    Ended who;
    std::uint64_t at_ns = 0;
  };

  static ShownConnection show(const nccl_net_diag::box::ConnSlot& slot,
                              const nccl_net_diag::box::FileHeader& header, const Known* before,
                              Known& now);

  void see_ended(const Look& look, const std::map<ProcessKey, Known>& now, View& out);

  uid_t viewer_;
  std::uint64_t mono_ns_ = 0;
  std::map<ProcessKey, Known> known_;
  std::vector<Gone> gone_;
};

}  // namespace nnd::cli
