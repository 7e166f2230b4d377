// Who is to blame that a job waits, as one process sees it and tells those that wait for it. Plain
// values; pure functions.
#pragma once

#include <cstdint>

#include "state/awaited.h"

namespace nnd::peers {

using state::Doing;
using state::Who;
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

// Of a process that lives, and has not come to what others wait in.
bool is_late(Kind kind) noexcept;

// What failed there did so for a reason of that process's own, or its node's.
bool is_of_one_end(const Claim& failed) noexcept;

// It says only that something else has failed, or who may be late: worth passing on, and nothing to
// be told.
bool is_hint(const Claim& claim) noexcept;

// Whether a process that has heard both believes a: what is certain goes before what only waits
// longest, so that all who hear the same say the same.
bool goes_before(const Claim& a, const Claim& b) noexcept;

}  // namespace nnd::peers
