// One collective with its buffers: filled, started, checked.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "job_spec.h"
#include "nccl_api.h"
#include "pattern.h"
#include "stream.h"

namespace softcuda {

class CollectiveRun {
 public:
  struct Failure {
    const char* call;
    int result;
  };

  // Throws std::bad_alloc when there is no memory. One that is still running at its end leaves its
  // buffers.
  CollectiveRun(const NcclApi& nccl, NcclComm comm, const Action& action);
  ~CollectiveRun();
  CollectiveRun(const CollectiveRun&) = delete;
  CollectiveRun& operator=(const CollectiveRun&) = delete;

  // Writes what this rank sends, and garbage where something is to arrive.
  void fill(int iteration);
  // May be called several times in a row, for the same data.
  std::optional<Failure> start(StreamHandle stream);
  // To be called once the stream is idle again.
  void finished();
  // Empty, or what is wrong with the data of the last iteration.
  std::optional<std::string> check();
  // From start to finish, all iterations.
  double busy_ms() const { return busy_ms_; }
  // Of the process's threads together in that time.
  double cpu_ms() const { return cpu_ms_; }

 private:
  using Clock = std::chrono::steady_clock;

  int call(StreamHandle stream);
  int send_and_receive(StreamHandle stream);
  int next() const { return (rank_ + 1) % nranks_; }
  int previous() const { return (rank_ + nranks_ - 1) % nranks_; }

  const NcclApi& nccl_;
  const NcclComm comm_;
  const Action action_;
  int rank_ = 0, nranks_ = 1;
  std::size_t count_, send_count_, recv_count_;  // elements
  void *send_ = nullptr, *recv_ = nullptr;
  void *send_block_ = nullptr, *recv_block_ = nullptr;  // what is to be released
  Pattern pattern_;
  std::optional<Clock::time_point> started_;
  double cpu_started_ms_ = 0, busy_ms_ = 0, cpu_ms_ = 0;
};

}  // namespace softcuda
