// Whom a job waits for, as its processes have told each other.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "diagnosis/diagnosis.h"
#include "diagnosis/stall.h"

namespace nnd::diagnosis {

enum class RootKind : std::uint8_t {
  kNone,     // nothing is known yet
  kIdle,     // it is alive and waits for nobody
  kCycle,    // processes wait for each other in a ring
  kStopped,  // it has answered before and does not now, and its host's kernel does
  kFailed,   // something failed in it
  kPair,     // the two ends of a connection disagree: one has sent, to the other nothing came
  kPort,     // a port of it is down
  kGone,     // it has answered before and does not now, and nor does its host's kernel
  kEnded,    // it has ended
  kMeets,    // its bootstrap waits for other ranks, and it was given less than who waits
  kRests,    // NCCL has nothing to do there; it may wait for one of its node. Not told: passed on
  kCount
};
std::string_view root_name(RootKind kind) noexcept;  // "idle": field "kind" of "root"

struct RootProcess {
  int rank = -1;     // -1: not known
  std::string host;  // empty: not known
  unsigned pid = 0;  // 0: not known
};

// "rank 3 of node1 (pid 812)"
std::string name_of(const RootProcess& who);

struct Root {
  RootKind kind = RootKind::kNone;
  double sec = 0;     // since when it is so
  double waited = 0;  // by this process
  bool self = false;  // it is this process
  RootProcess who;
  RootProcess other;            // kPair, kFailed: the other end; kCycle: who was given the most
  TaskName doing, other_doing;  // the last that they were given
  TaskName here;                // what this process waits in
  std::string place;            // "mlx5_0:1"; empty: not known
  std::optional<Cause> cause;   // kFailed
};

// What will not end by itself; that a rank takes its time may be as its program wants it.
bool is_warning(RootKind kind) noexcept;

Diagnosis diagnose(const Root& root);

// "in the end for rank 3 of node1 (pid 812), which has ended": what others say of it beside what
// they tell of.
std::string whom(const Root& root);

}  // namespace nnd::diagnosis
