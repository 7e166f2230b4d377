// Who is to blame that a job waits, as one process sees it and tells those that wait for it. Plain
// values; pure functions.
#pragma once

#include <cstdint>

#include "diagnosis/root.h"
#include "state/fixed_text.h"

namespace nnd::peers {

struct Who {
  std::uint64_t proc = 0;  // event field "proc"; 0: nobody
  std::int32_t rank = -1;  // -1: not known
  std::uint32_t pid = 0;   // 0: not known
  state::FixedText<40> host;

  bool known() const noexcept { return proc != 0; }
};

// A collective, send or receive that NCCL was given; of a communicator that was given nothing yet
// its hash alone.
struct Doing {
  state::FixedText<20> func;  // "AllReduce"; empty: nothing, or not known
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

using Kind = diagnosis::RootKind;

struct Claim {
  Kind kind = Kind::kNone;
  Who who;
  // kPair: the other end; kCycle: who was given the most, `who` the least; kFailed: the other end,
  // where it was alive after that.
  Who other;
  Doing doing;                 // the last that `who` was given; of kCycle what it waits in
  Doing other_doing;           // of kCycle
  std::uint16_t cause = 0;     // kFailed: nccl_net_diag::Cause, plus 1
  state::FixedText<24> place;  // "mlx5_0:1": of kPort and kFailed
  std::uint32_t age_ms = 0;    // since when it is so
  std::uint32_t told_ms = 0;   // ago, by the process that saw it itself
  std::uint16_t hops = 0;      // from there

  bool known() const noexcept { return kind != Kind::kNone; }
};

// That of the same cause; its age may differ.
bool same_root(const Claim& a, const Claim& b) noexcept;

// It says only that something else has failed: worth passing on, and nothing to be told.
bool is_echo(const Claim& claim) noexcept;

// Whether a process that has heard both believes a: what is certain goes before what only waits
// longest, so that all who hear the same say the same.
bool goes_before(const Claim& a, const Claim& b) noexcept;

}  // namespace nnd::peers
