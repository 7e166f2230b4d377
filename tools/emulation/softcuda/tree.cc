// The tree of NCCL's all_reduce.h (src/device): sums go up to the root, the result comes down.
#include "tree.h"

#include <algorithm>
#include <thread>

#include "primitives.h"

namespace softcuda {
namespace {

class Tree {
 public:
  Tree(const Communicator& comm, const Channel& channel, const CollectiveWork& work)
      : comm_(comm), work_(work), size_(size_of(work.function.type)) {
    const TreePlace place = channel.tree();
    for (const int child : place.children) {
      from_children_.push_back(channel.from(child, 0));
      to_children_.push_back(channel.to(child, 0));
    }
    if (!place.parent) return;
    from_parent_.push_back(channel.from(*place.parent, 0));
    to_parent_.push_back(channel.to(*place.parent, 0));
  }

  void play() const {
    if (from_parent_.empty()) return turn();
    // Both ways at the same time, else their buffers would fill up and all would wait.
    std::thread up([this] { reduce_up(); });
    broadcast_down();
    up.join();
  }

 private:
  void turn() const {
    each(from_children_, to_children_, [](Primitives& prims, const char* own, char* to, ssize_t n) {
      prims.reduce_and_send(own, to, n);
    });
  }
  void reduce_up() const {
    const bool leaf = from_children_.empty();
    each(from_children_, to_parent_, [leaf](Primitives& prims, const char* own, char*, ssize_t n) {
      leaf ? prims.send(own, nullptr, n) : prims.reduce_and_send(own, nullptr, n);
    });
  }
  void broadcast_down() const {
    const bool leaf = to_children_.empty();
    each(from_parent_, to_children_, [leaf](Primitives& prims, const char*, char* to, ssize_t n) {
      leaf ? prims.receive(to, n) : prims.receive_and_send(to, n);
    });
  }

  template <typename Move>
  void each(const std::vector<Connection>& from, const std::vector<Connection>& to,
            Move move) const {
    Primitives prims(comm_, from, to, kSingle, comm_.step_bytes(work_.function.protocol),
                     work_.function, work_.op_arg);
    for (const Stretch& stretch : work_.stretches) {
      if (prims.aborted()) return;
      const ssize_t at = stretch.begin * size_;
      move(prims, work_.send + at, work_.recv + at,
           std::min(stretch.chunk, stretch.limit - stretch.begin));
    }
  }

  const Communicator& comm_;
  const CollectiveWork& work_;
  const ssize_t size_;
  std::vector<Connection> from_parent_, to_parent_, from_children_, to_children_;
};

}  // namespace

void play_tree(const Communicator& comm, const Channel& channel, const CollectiveWork& work) {
  Tree(comm, channel, work).play();
}

}  // namespace softcuda
