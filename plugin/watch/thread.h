// The threads of the watch, from the plugin's first init on until the process ends: nnd-watch,
// which looks at the connections and never blocks, and nnd-counters, which reads the ports'
// counters and hangs where a driver does. Nothing waits for their end.
#pragma once

#include "config/settings.h"

namespace nnd::watch {

// Once in a process; a forked child starts its own when it calls this. Never fails the caller.
void start(const config::Settings& settings) noexcept;

}  // namespace nnd::watch
