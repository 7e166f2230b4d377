#include "rounds.h"

#include <algorithm>

namespace softcuda {
namespace {

constexpr ssize_t kGrainLL = 8, kGrainLL128 = 60;  // calcBytePerGrain: data per thread

ssize_t div_up(ssize_t value, ssize_t by) { return (value + by - 1) / by; }
ssize_t round_up(ssize_t value, ssize_t to) { return div_up(value, to) * to; }

// Elements in a step.
ssize_t step_elements(const RoundsWork& work) {
  const ssize_t size = size_of(work.function.type);
  switch (work.function.protocol) {
    case Protocol::kLL:
      return work.step_bytes / 2 / size;
    case Protocol::kLL128:
      return work.step_bytes * 15 / 16 / size;
    case Protocol::kSimple:
      return work.step_bytes / size;
  }
  return 0;
}

class RingRounds {
 public:
  explicit RingRounds(const RoundsWork& work)
      : work_(work), shares_(per_rank() ? work.channels * work.nranks : work.channels) {
    full_ = step_elements(work) * (simple() && !single_step() ? 4 : 1);
  }

  std::vector<Stretch> cut() const {
    std::vector<Stretch> stretches;
    const ssize_t loop = shares_ * full_;
    for (ssize_t at = 0; at < work_.count; at += loop) {
      const ssize_t chunk = chunk_of(work_.count - at);
      if (per_rank() && simple())
        stretches.push_back({at + work_.index * work_.nranks * chunk, chunk, work_.count, chunk});
      else
        stretches.push_back({at + work_.index * chunk, chunk, work_.count, work_.channels * chunk});
    }
    return stretches;
  }

 private:
  bool simple() const { return work_.function.protocol == Protocol::kSimple; }
  bool per_rank() const { return work_.function.collective == Collective::kAllReduce; }
  bool single_step() const {
    return work_.function.collective == Collective::kBroadcast ||
           work_.function.collective == Collective::kReduce;
  }

  // rest: elements from this round on.
  ssize_t chunk_of(ssize_t rest) const {
    const ssize_t size = size_of(work_.function.type);
    if (simple()) {
      const ssize_t unit = (work_.threads - 32) * 8 / size;  // one warp of threads only posts
      return round_up(std::min(full_, div_up(rest, shares_)), unit);
    }
    ssize_t least = work_.threads * (kGrainLL / size);
    if (work_.function.protocol == Protocol::kLL128)
      least = work_.threads * (kGrainLL128 / size) / (single_step() ? 1 : 2);
    else if (!per_rank())
      return rest < shares_ * full_ ? work_.last_chunk : full_;
    return std::min(full_, div_up(rest, shares_ * least) * least);
  }

  const RoundsWork& work_;
  const ssize_t shares_;  // of a round
  ssize_t full_ = 0;
};

std::vector<Stretch> cut_tree(const RoundsWork& work) {
  const ssize_t size = size_of(work.function.type);
  ssize_t chunk = work.last_chunk, least = 0;
  switch (work.function.protocol) {
    case Protocol::kLL:
      chunk = step_elements(work);
      least = work.threads * (kGrainLL / size);
      break;
    case Protocol::kLL128:
      least = work.threads * (kGrainLL128 / size) / 8;
      break;
    case Protocol::kSimple:
      least = (work.threads - 2 * 32) * 8 * (8 / size);  // one warp each way only posts
      break;
  }
  const ssize_t loop = work.channels * chunk;
  if (loop > work.count) chunk = div_up(work.count, work.channels * least) * least;
  std::vector<Stretch> stretches;
  for (ssize_t at = 0; at < work.count; at += loop)
    stretches.push_back({at + work.index * chunk, chunk, work.count, 0});
  return stretches;
}

}  // namespace

std::vector<Stretch> cut_rounds(const RoundsWork& work) {
  if (work.function.algorithm == Algorithm::kTree) return cut_tree(work);
  return RingRounds(work).cut();
}

}  // namespace softcuda
