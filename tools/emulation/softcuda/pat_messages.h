// What PAT, NCCL's algorithm of logarithmic trees for one GPU a node, sends: which ranks' data go
// in which message. Pure.
#pragma once

#include <sys/types.h>

#include <vector>

namespace softcuda {

// A message goes between ranks that are 2^dimension apart, and is one step of a connection.
struct PatMessage {
  int dimension;
  // Ranks are counted from the one that holds the data before a reduce-scatter's message, or after
  // an all-gather's. In both, what is at a distance moves along the lowest bit of that distance.
  std::vector<int> distances;
};

// The messages for one chunk, dimensions ascending: the order of a reduce-scatter, which an
// all-gather turns round. bytes: of one rank's data on a channel, in chunks of chunk_bytes; small
// ones share a slot. NCCL's proxy counts on these numbers of messages (src/proxy.cc with
// src/include/collectives.h, the same for every rank); which data is where only the two ends must
// agree on, and both are softcuda's. strided: Layout::pat_sums_strided.
std::vector<PatMessage> pat_messages(int nranks, ssize_t chunk_bytes, ssize_t bytes, bool strided);

}  // namespace softcuda
