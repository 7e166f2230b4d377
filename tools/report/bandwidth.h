// How fast collectives went, by communicator, function and size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "foreign/inspector.h"
#include "report/picture.h"

namespace nnd::report {

struct Bandwidth {
  std::string comm, name;     // NCCL's hash, "0x1f"; what its program calls it, where that is known
  std::optional<int> nranks;  // NCCL 2.23 to 2.26 don't tell
  std::string collective;     // "AllReduce"
  std::uint64_t least_bytes = 0;  // of a call, and less than twice that
  std::size_t ranks = 0;          // that tell of it
  std::uint64_t calls = 0;        // of the rank that tells of most
  double sec = 0;                 // that this rank's communicator was busy with them
  // GB/s of 10^9 bytes, the median of the ranks. Algorithm: the data by the time; bus: that times
  // what each link must carry of it, as nccl-tests define it.
  double algorithm = 0;
  std::optional<double> bus;  // unset: not known for that function or size of a communicator
  // What the ports that its ranks use carry each way, of the node that has least; unset: it has one
  // node only, or a speed isn't known.
  std::optional<double> ports;
  std::set<std::string> through_host;  // nodes without GPUDirect RDMA at one of these ports
};

// That with most time first. By what the plugin counts, from the asking or the end of the
// collective before, whichever is later, to the end of the last operation over the network: a GPU
// that is late is in it. Only what is over, and has such operations.
std::vector<Bandwidth> bandwidths_of(const Picture& picture);
// By NCCL's Inspector, which takes the kernels' own times.
std::vector<Bandwidth> bandwidths_of(const std::vector<foreign::Inspected>& inspected);

}  // namespace nnd::report
