// What the kernels of a job's nodes told of its processes and HCAs.
#pragma once

#include <optional>
#include <vector>

#include "foreign/evidence.h"
#include "report/picture.h"

namespace nnd::report {

struct Report;

struct KernelWord {
  const foreign::Fact* told = nullptr;
  Ns at = 0;                          // by the picture's time
  bool exact = true;                  // else its zone is a guess
  std::optional<std::size_t> member;  // the process that it ended, or was of
  // Or the HCA that it names; the host alone: nothing tells whose process, or whose GPU, it was.
  Place place;
};

// Those of the time of the job, the first one first. Points into the evidence.
std::vector<KernelWord> kernel_of(const Picture& picture, const foreign::Evidence& evidence);

// Where a process of the job was ended by its kernel, and what the report found can follow from
// that, the job failed of it: the report becomes that. Else it only keeps what the kernels told.
void hear_kernel(Report& report, const foreign::Evidence& evidence);

// Whether what failed so can follow from an HCA that may not reach memory, here or at the peer.
bool may_be_refused_memory(nccl_net_diag::Cause cause);

// A crash in NCCL's own code, or below it, may be due to the network.
bool is_crash_below(const foreign::Fact& told);

}  // namespace nnd::report
