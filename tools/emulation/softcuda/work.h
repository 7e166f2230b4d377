// What a kernel has to do, read from NCCL's work structures at launch and free of versions.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "connection.h"
#include "function.h"
#include "module.h"

namespace softcuda {

// A stretch of a channel's part of a collective, in elements: [begin, limit), in chunks of this
// size. The ring of an all-reduce takes one chunk per rank from it, at this distance from each
// other; all else takes one chunk.
struct Stretch {
  ssize_t begin, chunk, limit, distance;
};

struct CollectiveWork {
  Function function;
  const char* send;
  char* recv;
  int root;
  ssize_t count;  // elements per rank
  std::uint64_t op_arg;
  std::vector<Stretch> stretches;
};

struct Transfer {  // one direction of send/receive, this channel's part
  bool sending;
  int peer;
  char* data;
  std::size_t bytes, chunk;
  Protocol protocol;
};

struct LocalCopy {  // send to oneself
  const char* from;
  char* to;
  std::size_t bytes;
};

// What runs at the same time; the batches of a channel run one after the other.
struct Batch {
  std::vector<CollectiveWork> collectives;  // one after the other
  std::vector<Transfer> transfers;          // at the same time
  std::vector<LocalCopy> copies;
  // One for each of NCCL's works, in its order: whether its profiler is told of it.
  std::vector<bool> told;
};

struct ChannelProgram {
  int channel;
  std::vector<Batch> batches;
  std::optional<std::uint32_t> work_done;      // to be told once read
  std::optional<std::uint32_t> work_consumed;  // likewise
};

struct Program {
  std::vector<ChannelProgram> channels;
  std::string refusal;  // not empty: a sentence saying what isn't played; then nothing may run
};

// The arguments that NCCL gives its kernels: communicator, channels, and where the work is.
struct KernelArguments {
  void* comm;
  std::uint64_t channel_mask;
  char* work;   // up to 2.21 the list's head; later the batches, behind the arguments
  int storage;  // from 2.22: 0 behind the arguments, else in work_buffer
  std::uint32_t work_mask;
  char* work_buffer;
  char* base;  // of the arguments
};

// What both readers have: whose work it is, and what came of it.
class WorkReader {
 public:
  WorkReader(const Module& module, const Communicator& comm, const KernelArguments& arguments)
      : module_(module), comm_(comm), arguments_(arguments) {}
  WorkReader(const WorkReader&) = delete;
  WorkReader& operator=(const WorkReader&) = delete;

  Program read();

 protected:
  ~WorkReader() = default;
  // index: the channel's place among those in use.
  virtual void read_channel(int channel, std::size_t index) = 0;
  void refuse(std::string what) { program_.refusal = std::move(what); }
  static bool has_chunk_per_rank(const Function& function) {
    return function.collective == Collective::kAllReduce && function.algorithm == Algorithm::kRing;
  }

  const Module& module_;
  const Communicator& comm_;
  const KernelArguments& arguments_;
  Program program_;
};

Program read_work_lists(const Module& module, const Communicator& comm,
                        const KernelArguments& arguments);  // to 2.21
Program read_work_batches(const Module& module, const Communicator& comm,
                          const KernelArguments& arguments);  // from 2.22

}  // namespace softcuda
