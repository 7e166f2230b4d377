// Whom this process waits for in the end, as the processes of the job have told each other
// (peers/claim.h). The watch writes it; whoever tells of a failure, the summary and the black box
// read it. Plain values.
#pragma once

#include <cstdint>
#include <string>

#include "diagnosis/root.h"
#include "state/fixed_text.h"
#include "state/published.h"

namespace nnd::state {

struct Who {
  std::uint64_t proc = 0;  // event field "proc"; 0: nobody
  std::int32_t rank = -1;  // -1: not known
  std::uint32_t pid = 0;   // 0: not known
  FixedText<40> host;

  bool known() const noexcept { return proc != 0; }
};

// A collective, send or receive that NCCL was given; of a communicator that was given nothing yet
// its hash alone.
struct Doing {
  FixedText<20> func;         // "AllReduce"; empty: nothing, or not known
  std::uint64_t comm = 0;     // 0: not known
  std::uint64_t ordinal = 0;  // of its kind in this communicator, from 1
  std::int64_t number = -1;   // NCCL's own; -1: it has none
  std::uint64_t bytes = 0;    // 0: not known

  bool known() const noexcept { return comm != 0; }
  // Of the same communicator, and earlier.
  bool behind(const Doing& other) const noexcept {
    return known() && comm == other.comm && ordinal < other.ordinal;
  }
};

struct Awaited {
  diagnosis::RootKind kind = diagnosis::RootKind::kNone;
  Who who, other;  // as in peers::Claim, and so are the next four
  Doing doing, other_doing;
  std::uint16_t cause = 0;
  FixedText<24> place;
  std::uint16_t hops = 0;
  bool self = false;           // it is this process, which others wait for
  std::uint64_t since_ns = 0;  // CLOCK_MONOTONIC: since when it is so

  bool known() const noexcept { return kind != diagnosis::RootKind::kNone; }
  double age_sec() const noexcept;
};

// Who comes last to the job's collectives, as the processes have told each other while it runs
// (peers/arrivals.h).
struct Latecomer {
  Who who;
  std::uint32_t times = 0,
                of = 0;  // of the collectives that were compared, in which somebody waited
  std::uint32_t us = 0;  // for how long, the median of those times

  bool known() const noexcept { return who.known(); }
};

// One thread at a time writes, any reads.
Published<Awaited>& awaited() noexcept;
Published<Latecomer>& latecomer() noexcept;

diagnosis::RootProcess process_of(const Who& who);
diagnosis::TaskName name_of(const Doing& doing);
// As diagnosis words it.
diagnosis::Root root_of(const Awaited& awaited);
// "in the end for rank 3 of node1 (pid 812), which has ended"; empty: for nobody that is known.
std::string awaited_text();

}  // namespace nnd::state
