// NCCL spins: on sockets whose peer is another thread of the same job, and in its proxy threads.
// With a core for each that is the fastest way; with more threads than cores it keeps those from
// running who have something to do.
#pragma once

#include <string>

namespace softcuda {

// Whether SOFTCUDA_GIVE_WAY is in the environment, and not 0: what waits in vain then sleeps.
// run_job sets it to the number of threads that spin for each core, where that is more than one.
bool gives_way();

// Yields at first, then sleeps: 5 us, or where we give way longer each time, up to some
// milliseconds in a wait that is long already. To be called for each look in vain, with the number
// of those since the last one that found something.
void pause_after(int looks);

// To be called where a kernel of this process has got on: its proxy thread will soon have something
// to do.
void got_on();

// Makes a loaded libnccl give way in its own recv, accept and sched_yield, and leave pages
// untouched that it zeroes for the second time (memory.h). Empty, or why that could not be done. To
// be called before NCCL is initialised; does nothing unless gives_way().
std::string give_way(void* handle);

}  // namespace softcuda
