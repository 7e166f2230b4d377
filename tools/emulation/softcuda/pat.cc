#include "pat.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>

#include "pat_messages.h"
#include "primitives.h"
#include "reduce.h"

namespace softcuda {
namespace {

// All ranks go through the same messages in the same order, each sending its own and then taking
// its peer's, so that none waits for one that waits for it.
class Pat {
 public:
  Pat(const Communicator& comm, const Channel& channel, const CollectiveWork& work)
      : work_(work),
        size_(size_of(work.function.type)),
        nranks_(comm.nranks()),
        rank_(comm.rank()) {
    for (int step = 1; step < nranks_; step *= 2) {
      const int up = (rank_ + step) % nranks_, down = (rank_ + nranks_ - step) % nranks_;
      prims_.emplace_back(comm, std::vector{channel.from(gathers() ? up : down, 0)},
                          std::vector{channel.to(gathers() ? down : up, 0)}, kSingle,
                          comm.step_bytes(Protocol::kSimple), work.function);
    }
    if (work.stretches.empty()) return;
    const Stretch& all = work.stretches.front();
    messages_ = pat_messages(nranks_, all.chunk * size_, (all.limit - all.begin) * size_,
                             !gathers() && comm.layout().pat_sums_strided);
  }

  void play() {
    for (const Stretch& stretch : work_.stretches) {
      at_ = stretch.begin;
      length_ = std::min(stretch.chunk, stretch.limit - stretch.begin);
      gathers() ? all_gather() : reduce_scatter();
    }
  }

 private:
  bool gathers() const { return work_.function.collective == Collective::kAllGather; }
  std::size_t piece_bytes() const { return static_cast<std::size_t>(length_ * size_); }
  // This chunk of the rank at a distance, in the buffer of all ranks.
  ssize_t of_rank(int distance) const {
    return ((rank_ + distance) % nranks_ * work_.count + at_) * size_;
  }

  void all_gather() {
    const char* own = work_.send + at_ * size_;
    if (char* kept = work_.recv + of_rank(0); kept != own) std::memmove(kept, own, piece_bytes());
    for (auto one = messages_.rbegin(); one != messages_.rend(); ++one) {
      const PatMessage& message = *one;
      const int step = 1 << message.dimension;
      exchange(
          message, [&](int distance) { return work_.recv + of_rank(distance - step); },
          [&](int distance, const char* piece) {
            std::memcpy(work_.recv + of_rank(distance), piece, piece_bytes());
          });
    }
  }

  void reduce_scatter() {
    for (const PatMessage& message : messages_) {
      const int step = 1 << message.dimension;
      exchange(
          message, [&](int distance) { return sum(distance).data(); },
          [&](int distance, const char* piece) {
            std::vector<char>& to = sum(distance - step);
            reduce(work_.function, work_.op_arg, to.data(), to.data(), piece,
                   static_cast<std::size_t>(length_));
          });
      for (const int distance : message.distances) sums_.erase(distance);
    }
    finish(work_.function, work_.op_arg, sum(0).data(), static_cast<std::size_t>(length_));
    std::memcpy(work_.recv + at_ * size_, sum(0).data(), piece_bytes());
    sums_.clear();
  }

  // What has been summed for the rank at this distance; at first our own part.
  std::vector<char>& sum(int distance) {
    const auto [found, fresh] = sums_.try_emplace(distance);
    const char* own = work_.send + of_rank(distance);
    if (fresh) found->second.assign(own, own + piece_bytes());
    if (fresh && work_.function.operation == Operation::kPreMulSum)
      scale(work_.function, work_.op_arg, found->second.data(), own,
            static_cast<std::size_t>(length_));
    return found->second;
  }

  template <typename Piece, typename Take>
  void exchange(const PatMessage& message, Piece piece, Take take) {
    Primitives& prims = prims_[static_cast<std::size_t>(message.dimension)];
    const auto pieces = static_cast<ssize_t>(message.distances.size());
    buffer_.clear();
    for (const int distance : message.distances) {
      const char* from = piece(distance);
      buffer_.insert(buffer_.end(), from, from + piece_bytes());
    }
    prims.send(buffer_.data(), nullptr, pieces * length_);
    prims.receive(buffer_.data(), pieces * length_);
    if (prims.aborted()) return;
    const char* next = buffer_.data();
    for (const int distance : message.distances) {
      take(distance, next);
      next += piece_bytes();
    }
  }

  const CollectiveWork& work_;
  const ssize_t size_;
  const int nranks_, rank_;
  std::deque<Primitives> prims_;  // by dimension
  std::vector<PatMessage> messages_;
  ssize_t at_ = 0, length_ = 0;  // of the chunk that is being moved, in elements
  std::map<int, std::vector<char>> sums_;
  std::vector<char> buffer_;
};

}  // namespace

void play_pat(const Communicator& comm, const Channel& channel, const CollectiveWork& work) {
  Pat(comm, channel, work).play();
}

}  // namespace softcuda
