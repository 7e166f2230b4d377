// What NCCL gets as a handle where another profiler is called as well: the number of a place that
// keeps that one's handle and ours. NCCL uses a handle as parent long after its end, so a place is
// taken again as late as can be, and a handle whose place has gone to another event leads nowhere.
// No lock, no allocation but in prepare_pairs.
#pragma once

#include <cstdint>

#include "profiler/handle.h"

namespace nnd::profiler {

struct ChainedHandle {
  void* ours = nullptr;
  void* theirs = nullptr;
  int mask = 0;  // the other's, as it was when the first event of this kin began
};

// Null: there is no place. communicator: whose end ends the pair. A pair that is kept for good
// outlives its event: a captured graph has it as parent whenever it is launched.
void* new_pair(const ChainedHandle& pair, std::uint32_t communicator, bool for_good) noexcept;
inline bool is_pair(const void* handle) noexcept { return kind_of(handle) == HandleKind::kPair; }
// False: it is no pair, or its place has gone to another.
bool read_pair(const void* handle, ChainedHandle& pair) noexcept;
void set_theirs(const void* handle, void* theirs) noexcept;  // before NCCL has it
void end_pair(const void* handle) noexcept;
void end_pairs_of(std::uint32_t communicator) noexcept;

// False: there is no memory. Not for the data path.
bool prepare_pairs() noexcept;

}  // namespace nnd::profiler
