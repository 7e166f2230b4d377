// Work that is shared by as many threads as there are CPUs.
#pragma once

#include <cstddef>
#include <functional>

namespace nnd::log {

// How many that are, of at most `parts` pieces of work; 1 at least.
std::size_t cpus_for(std::size_t parts);

// Calls work(0) in this thread and work(1) to work(threads - 1) in others, and waits for all. Where
// there is no room for more threads there are fewer: what they would do has to be left to the rest.
void on_threads(std::size_t threads, const std::function<void(std::size_t)>& work);

}  // namespace nnd::log
