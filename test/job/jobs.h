// What the job tests share.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <string>

#include "softcuda/job.h"

namespace nnd::test {

// For a job of the tests; sanitizers slow a rank down tenfold.
#if defined(NND_ADDRESS_SANITIZER) || defined(NND_THREAD_SANITIZER)
inline constexpr double kDeadlineSec = 500;
#else
inline constexpr double kDeadlineSec = 120;
#endif

// The library under test: $NND_TEST_NCCL, a version in the cache; the test is skipped where it is
// not there. Its number as NCCL gives it, such as 22809.
const std::string& nccl_library();
// $NND_TEST_OTHER_NCCL and its library, likewise.
std::string other_nccl_version();
std::string other_nccl_library();
int nccl_version();
std::string nccl_version_text();  // as $NND_TEST_NCCL has it

// A job over NCCL's own sockets on the loopback: nodes times GPUs, nothing to do yet.
softcuda::JobSpec socket_job(int nodes, int gpus_per_node);

// All that softcuda plays, on one communicator: each collective with each size, in place and not.
void add_all_collectives(softcuda::JobSpec& spec, std::initializer_list<std::size_t> sizes);

// All that is reduced, with all operations and types.
void add_all_types(softcuda::JobSpec& spec);

// Whether NCCL can abort a communicator with a collective under way. Not from 2.23 to 2.25: their
// proxy thread doesn't look at the abort flag while it has something to do (src/proxy.cc,
// ncclProxyProgress; put right in 2.26), with and without our plugin.
bool aborts_under_way();

// For two ranks: both abort a communicator, rank 0 with a collective under way that rank 1 never
// joins where NCCL can; then they go on with another.
void add_abort(softcuda::JobSpec& spec);

// For jobs of sixteen ranks. 2.18.3: a rank finds the shared memory of a neighbour on its node gone
// (ncclShmOpen, ENOENT) in most such jobs that send and receive, also without our plugin and over
// sockets; its node's ranks therefore talk over the network.
void avoid_lost_segments(softcuda::JobSpec& spec);

// What went wrong, one line per rank; empty when the job is fine.
std::string failures(const softcuda::JobResult& result);

}  // namespace nnd::test
