// NCCL spins: on sockets whose peer is another thread of the same job, and in its proxy threads.
// With a core for each that is the fastest way; with more threads than cores it keeps those from
// running who have something to do.
#pragma once

#include <string>

namespace softcuda {

// Whether SOFTCUDA_GIVE_WAY is 1 in the environment: what waits in vain then sleeps, for at most
// 100 us at a time. run_job sets it when there are more ranks than the machine's cores can carry.
bool gives_way();

// Yields at first, then sleeps: 5 us, or longer each time where we give way. To be called for each
// look in vain, with the number of those since the last one that found something.
void pause_after(int looks);

// Makes a loaded libnccl give way in its own recv, accept and sched_yield, and leave pages
// untouched that it zeroes for the second time (memory.h). Empty, or why that could not be done. To
// be called before NCCL is initialised; does nothing unless gives_way().
std::string give_way(void* handle);

}  // namespace softcuda
