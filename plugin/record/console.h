// Sentences on stderr, for those who run jobs without NCCL_DEBUG=INFO: one a cause and process.
// Where errors alone are wanted, warnings of what will not end by itself come too, three an hour.
// Whoever has something to tell leaves it here; the drain's thread writes, since stderr may be a
// pipe that nobody empties. Nothing is told where NCCL's logger prints the same sentences there.
#pragma once

#include <string>
#include <string_view>

#include "config/settings.h"
#include "nccl_net_diag/causes.h"
#include "nccl_net_diag/events.h"

namespace nnd::record {

// who: "node1 pid 4711".
void open_console(config::Stderr level, std::string who);
// A clause that names the event log. The drain's thread.
void name_console_log(const std::string& log);
// Any thread, no lock. advice: "CAUSE: what was seen. What to do." lasts: it will not end by
// itself.
void tell_console(nccl_net_diag::Severity severity, nccl_net_diag::Cause cause,
                  std::string_view advice, bool lasts) noexcept;
// The drain's thread.
void write_console() noexcept;
void forget_console() noexcept;  // a forked child tells its own

}  // namespace nnd::record
