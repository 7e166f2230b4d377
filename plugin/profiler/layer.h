// What is done with NCCL's profiler calls, whatever the API's version: the table of each version
// (shim.h) brings them to this form. start_* give what NCCL gets as a handle. All but open and
// close are called in the middle of NCCL's work: no lock, no allocation, no system call.
#pragma once

#include <cstdint>

#include "nccl_abi/profiler.h"
#include "state/communicator.h"

namespace nnd::profiler {

// What this room asks of the rest of the house.
struct Dependencies {
  // At each init: the log and what else a process needs. logger: null where the version has none.
  void (*start)(nccl_abi::DebugLogger logger) = [](nccl_abi::DebugLogger) {};
  // The other profiler's init of a communicator has failed.
  void (*other_failed)(nccl_abi::Result rc) = [](nccl_abi::Result) {};
};
Dependencies& dependencies() noexcept;

// A communicator. Gives what NCCL gets as its context.
struct Opening {
  int api = 0;
  int* mask = nullptr;
  state::Membership told;  // hash 0 where the version's init doesn't tell it
  nccl_abi::DebugLogger logger = nullptr;
};
void* open(const Opening& opening) noexcept;
void close(void* context) noexcept;

// Whether a context is one of ours, and of which communicator; kNoCommunicator: there was no place.
bool is_own(const void* context) noexcept;
std::uint32_t place_of(const void* context) noexcept;
bool is_own_process(int pid) noexcept;

// Before profiler v4 events tell whose they are.
struct Task {
  std::uint64_t comm_hash = 0;  // 0: not told
  const char* comm_name = nullptr;
  std::int32_t rank = -1;
  state::CallKind kind;
  std::uint64_t elements = 0;
  std::uint64_t seq = 0;
  bool has_seq = false;
  std::int32_t peer = -1;
  state::Purpose purpose = state::Purpose::kCollective;
};
void* start_call(void* context, const Task& task) noexcept;
// parent: of the call, or anything else.
void* start_task(void* context, const Task& task, const void* parent) noexcept;
void* start_op(void* context, const nccl_abi::ProfilerProxyOp& op, const void* parent) noexcept;
void* start_step(const void* op) noexcept;
void net_event(const nccl_abi::ProfilerNetPlugin& event, std::int32_t rank,
               const void* step) noexcept;
// Anything else: told because it is the parent of what is wanted.
void* start_other() noexcept;
void stop(const void* handle) noexcept;
void record(const void* handle, nccl_abi::ProfilerState state) noexcept;

}  // namespace nnd::profiler
