// How processes ended, as those tell who start them or who catch their signals: torchelastic, srun,
// mpirun, UCX and Open MPI, PyTorch's data loaders of their workers; and why Slurm ended a job.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "foreign/fact.h"

namespace nnd::foreign {

// program of a fact: the process is none of the job's ranks, but one that gives a rank its data.
inline constexpr const char* kLoaderWorker = "DataLoader worker";
// Details of kCancelled.
inline constexpr const char* kNodeFailed = "a node of it failed";
inline constexpr const char* kStepCancelled = "somebody cancelled its step, or srun did";

// Takes a job's output line by line. One thread at a time.
class ProcessEnds {
 public:
  explicit ProcessEnds(std::function<void(Fact&&)> sink) : sink_(std::move(sink)) {}

  void take(std::string_view line, std::uint64_t number);

 private:
  bool take_summary(std::string_view line, std::uint64_t number);
  void tell(Fact&& fact, std::string_view line, std::uint64_t number);

  const std::function<void(Fact&&)> sink_;
  std::optional<Fact> summary_;  // torchelastic's first observed failure, as far as it was printed
};

}  // namespace nnd::foreign
