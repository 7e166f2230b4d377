// Where NCCL's host side leaves what its kernels read: offsets and sizes inside NCCL's own
// structures. An official library tells it by its debug information (debug_layout.h); the table
// here is for one that was stripped, by version.
#pragma once

#include <cstdint>

namespace softcuda {

// How a kernel finds its work.
enum class WorkStyle : std::uint8_t {
  kRounds,  // 2.18, 2.19: lists of 512-byte ncclWork; the kernel cuts the data into rounds over all
            // channels
  kParts,   // 2.20, 2.21: the same lists; each element says which part is this channel's
  kBatches,  // from 2.22: ncclDevWorkBatch behind the kernel's arguments
};

// All offsets in bytes. 0 where the version has no such field.
struct Layout {
  int first, last;  // as ncclGetVersion tells them; both ends were looked at
  const char* source;
  struct {  // ncclConnInfo; buffer is buffs[Simple], the other protocols' before it; sizes is
            // connFifo, up to 2.19 sizesFifo with an own offsFifo
    std::uint16_t bytes, buffer, tail, head, step_size, sizes, offsets, step;
  } conn;
  struct {  // ncclConnFifo, one entry per step; up to 2.19 a plain int
    std::uint16_t bytes, mode, offset, offset_bytes, size, size_bytes;
  } slot;
  struct {  // ncclDevComm, from 2.27 ncclKernelComm; simple_buffer is buffSizes[Simple], likewise
    std::uint16_t simple_buffer, p2p_chunk, abort, channels, work_consumed;
  } comm;
  struct {  // ncclDevChannel; ring begins with prev and next, tree is an ncclTree
    std::uint16_t bytes, ring, ring_ranks, ring_index, tree, work_done;
  } channel;
  struct {  // What a kernel tells NCCL's profiler, from 2.26 on: started and completed are of the
            // communicator, an array of this many bytes a channel each; counter is of the channel.
            // flag: the bit of a collective's first word that asks for it; 0: all are told.
    std::uint16_t started, completed, bytes, counter;
    std::uint32_t flag;
  } profiler;
  struct {  // ncclDevWorkColl, up to 2.21 ncclWorkElem; count is where the counts begin (cbd)
    std::uint16_t bytes;
    std::uint32_t
        refused_flags;  // bits of the first word: scalar behind a pointer, registered buffers
    std::uint16_t root, send, recv, count, op_arg;
  } coll;
  WorkStyle style;
  // Which part of a transfer a channel has: its distance from the first channel, up to 2.27 with
  // the bits reversed (ncclP2pChannelToPart in src/include/device.h; later releases: by the tests
  // with several channels per peer).
  bool p2p_parts_reversed;
  // Which ranks' data share a message in a reduce-scatter by PAT: from 2.26 on those far from each
  // other, before that neighbours, as in an all-gather (PatRSAlgorithm in
  // src/include/collectives.h).
  bool pat_sums_strided;
  int func_bits;  // width of the function's number in ncclDevWorkBatch or ncclWorkHeader
};

// Null when the table hasn't this version.
const Layout* find_layout(int nccl_version);

// The two that are code, and so not in the debug information.
bool parts_are_reversed(int nccl_version);
bool pat_sums_are_strided(int nccl_version);

// The oldest and the newest version known, for messages.
int oldest_layout();
int newest_layout();

}  // namespace softcuda
