// Between Event and the recorder.
#pragma once

#include <string_view>

#include "nccl_net_diag/events.h"
#include "record/event.h"

namespace nnd::record {

// Whether the recorder runs, and the event is to be written or, for warn and error, at least told.
bool wanted(nccl_net_diag::EventId id, nccl_net_diag::Severity severity, Weight weight) noexcept;

// An error comes: see set_error_hook.
void announce_error() noexcept;

// Puts the event into the calling thread's ring. Never blocks on the log.
void submit(nccl_net_diag::EventId id, nccl_net_diag::Severity severity,
            std::string_view payload) noexcept;

}  // namespace nnd::record
