// The threads of the watch, from the plugin's first init on until the process ends: nnd-watch,
// which looks at the connections and never blocks, and nnd-counters, which reads the ports'
// counters and hangs where a driver does. Nothing waits for their end.
#pragma once

#include <cstdint>
#include <string>

#include "config/settings.h"

namespace nnd::watch {

// Once in a process; a forked child starts its own when it calls this. Never fails the caller.
void start(const config::Settings& settings) noexcept;

// What another room does at each look: on nnd-watch, so it may not block.
void also_look(void (*look)(std::uint64_t mono_ns)) noexcept;

// Who tells at the end what NCCL warned of last; empty: of nothing. Before start().
void ask_for_last_words(std::string (*words)()) noexcept;

}  // namespace nnd::watch
