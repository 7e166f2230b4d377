// NCCL_NET_DIAG_EVENTS: which events are written.
#pragma once

#include <cstdint>
#include <string_view>

#include "nccl_net_diag/events.h"

namespace nnd::record {

struct Filter {
  std::uint64_t mask = 0;  // one bit per event id
  bool steps = false;      // also each step of a connection that goes well
};

// Comma-separated globs; ^ excludes. Where nothing is included by name, all but req.* is, without
// the steps. log.dropped is always written: it is what keeps the rest honest. Can throw bad_alloc.
Filter event_filter(std::string_view globs);

constexpr std::uint64_t event_bit(nccl_net_diag::EventId id) {
  return std::uint64_t{1} << static_cast<unsigned>(id);
}
static_assert(static_cast<unsigned>(nccl_net_diag::EventId::kCount) <= 64);

}  // namespace nnd::record
