// What a kernel tells NCCL's profiler: when each work of a channel began and ended (from 2.26 on).
#pragma once

#include <cstdint>
#include <vector>

#include "connection.h"

namespace softcuda {

class WorkCounter {
 public:
  WorkCounter(const Communicator& comm, int channel) : comm_(comm), channel_(channel) {}

  // told: one for each work of a batch, whether the profiler wants to know.
  void start(const std::vector<bool>& told);
  void complete(const std::vector<bool>& told);

 private:
  void tell(char* counters, const std::vector<bool>& told) const;

  const Communicator& comm_;
  const int channel_;
};

}  // namespace softcuda
