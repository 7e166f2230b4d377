// One process's event log, written by the product's own encoder of lines.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "diagnosis/diagnosis.h"
#include "nccl_net_diag/events.h"
#include "record/pack.h"

namespace nnd::synth {

using Ns = std::int64_t;

struct Identity {
  std::string host;
  std::uint32_t pid = 0;
  std::uint64_t proc = 0;
  Ns mono_ahead = 0;   // CLOCK_MONOTONIC of the host less the job's time
  Ns clock_wrong = 0;  // by how much the host's wall clock is ahead
};

class Writer {
 public:
  explicit Writer(Identity identity) : identity_(std::move(identity)) {}

  // At this time of the job, which begins at 0.
  void add(Ns at, nccl_net_diag::EventId id, nccl_net_diag::Severity severity,
           const std::function<void(record::Pack&)>& fields);
  // Everything later is never written.
  void cut(Ns at) { cut_ = at; }
  void write(const std::filesystem::path& file) const;

  const Identity& identity() const { return identity_; }

 private:
  struct One {
    Ns at;
    nccl_net_diag::EventId id;
    nccl_net_diag::Severity severity;
    std::string payload;
  };

  Identity identity_;
  std::vector<One> events_;
  Ns cut_ = INT64_MAX;
};

void add_diagnosis(record::Pack& pack, const diagnosis::Diagnosis& said, std::uint64_t failure = 0);

}  // namespace nnd::synth
