// The rings of NCCL's all_gather.h, reduce_scatter.h, all_reduce.h, broadcast.h and reduce.h
// (src/device), which have moved the same pieces in the same order since 2.18.
#include "collectives.h"

#include <algorithm>

#include "job_spec.h"
#include "log.h"
#include "pat.h"
#include "primitives.h"
#include "tree.h"

namespace softcuda {
namespace {

Slicing slicing_of(const Function& function) {
  const bool single = function.collective == Collective::kBroadcast ||
                      function.collective == Collective::kReduce ||
                      function.protocol != Protocol::kSimple;
  return single ? kSingle : kHalves;
}

class Ring {
 public:
  Ring(const Communicator& comm, const Channel& channel, const CollectiveWork& work)
      : work_(work),
        size_(size_of(work.function.type)),
        nranks_(comm.nranks()),
        rank_(comm.rank()),
        index_(channel.ring_index()),
        ranks_(channel.ring_ranks()),
        prims_(comm, {channel.from(channel.ring_previous(), 0)},
               {channel.to(channel.ring_next(), 0)}, slicing_of(work.function),
               comm.step_bytes(work.function.protocol), work.function, work.op_arg) {}

  void play() {
    for (const Stretch& stretch : work_.stretches) {
      if (prims_.aborted()) return;
      switch (work_.function.collective) {
        case Collective::kAllGather:
          all_gather(stretch);
          break;
        case Collective::kReduceScatter:
          reduce_scatter(stretch);
          break;
        case Collective::kAllReduce:
          all_reduce(stretch);
          break;
        case Collective::kBroadcast:
          broadcast(stretch);
          break;
        case Collective::kReduce:
          reduce(stretch);
          break;
        case Collective::kSendRecv:
          break;  // no ring
      }
    }
  }

 private:
  const char* source(ssize_t element) const { return work_.send + element * size_; }
  char* target(ssize_t element) const { return work_.recv + element * size_; }
  static ssize_t length(const Stretch& stretch) {
    return std::min(stretch.chunk, stretch.limit - stretch.begin);
  }
  // Where the data of the rank at this distance in the ring stands in the buffer of all ranks.
  ssize_t of_rank(int distance, ssize_t element) const {
    return ranks_[distance] * work_.count + element;
  }

  void all_gather(const Stretch& stretch) {
    const ssize_t at = stretch.begin, n = length(stretch);
    prims_.send(source(at), target(of_rank(0, at)), n);
    for (int j = 1; j < nranks_ - 1; ++j)
      prims_.receive_and_send(target(of_rank(nranks_ - j, at)), n);
    prims_.receive(target(of_rank(1, at)), n);
  }

  void reduce_scatter(const Stretch& stretch) {
    const ssize_t at = stretch.begin, n = length(stretch);
    prims_.send(source(of_rank(nranks_ - 1, at)), nullptr, n);
    for (int j = 2; j < nranks_; ++j)
      prims_.reduce_and_send(source(of_rank(nranks_ - j, at)), nullptr, n);
    prims_.reduce_into(source(of_rank(0, at)), target(at), n);
  }

  void all_reduce(const Stretch& stretch) {
    const auto begin = [&](int piece) {
      return stretch.begin + piece % nranks_ * stretch.distance;
    };
    const auto count = [&](int piece) {
      return std::min(stretch.chunk, stretch.limit - begin(piece));
    };
    int piece = index_ + nranks_ - 1;
    prims_.send(source(begin(piece)), nullptr, count(piece));
    for (int j = 2; j < nranks_; ++j) {
      piece = index_ + nranks_ - j;
      prims_.reduce_and_send(source(begin(piece)), nullptr, count(piece));
    }
    prims_.reduce_and_send(source(begin(index_)), target(begin(index_)), count(index_));
    for (int j = 1; j < nranks_ - 1; ++j) {
      piece = index_ + nranks_ - j;
      prims_.receive_and_send(target(begin(piece)), count(piece));
    }
    prims_.receive(target(begin(index_ + 1)), count(index_ + 1));
  }

  void broadcast(const Stretch& stretch) {
    const ssize_t at = stretch.begin, n = length(stretch);
    if (rank_ == work_.root)
      prims_.send(source(at), target(at), n);
    else if (ranks_[1] == work_.root)
      prims_.receive(target(at), n);
    else
      prims_.receive_and_send(target(at), n);
  }

  void reduce(const Stretch& stretch) {
    const ssize_t at = stretch.begin, n = length(stretch);
    if (ranks_[nranks_ - 1] == work_.root)
      prims_.send(source(at), nullptr, n);
    else if (rank_ == work_.root)
      prims_.reduce_into(source(at), target(at), n);
    else
      prims_.reduce_and_send(source(at), nullptr, n);
  }

  const CollectiveWork& work_;
  const ssize_t size_;
  const int nranks_, rank_, index_;
  const int* const ranks_;
  Primitives prims_;
};

}  // namespace

void play_collective(const Communicator& comm, int channel, const CollectiveWork& work) {
  log("{} {} {} on channel {}", name_of(work.function.collective), name_of(work.function.algorithm),
      name_of(work.function.protocol), channel);
  switch (work.function.algorithm) {
    case Algorithm::kRing:
      Ring(comm, comm.channel(channel), work).play();
      break;
    case Algorithm::kTree:
      play_tree(comm, comm.channel(channel), work);
      break;
    case Algorithm::kPat:
      play_pat(comm, comm.channel(channel), work);
      break;
  }
}

}  // namespace softcuda
