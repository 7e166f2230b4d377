// The watch's thread, nnd-watch: from the plugin's first init on, until the process ends. Nothing
// waits for its end.
#pragma once

#include "config/settings.h"

namespace nnd::watch {

// Once in a process; a forked child starts its own when it calls this. Never fails the caller.
void start(const config::Settings& settings) noexcept;

}  // namespace nnd::watch
