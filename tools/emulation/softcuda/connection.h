// Views of NCCL's device-side structures: communicator, channel, connection. They own nothing and
// copy nothing; all offsets come from the layout.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "function.h"
#include "layouts.h"

namespace softcuda {

inline constexpr int kSteps = 8;  // NCCL_STEPS: slots of a connection's buffer

template <typename T>
T& field(void* base, std::size_t offset) {
  return *reinterpret_cast<T*>(static_cast<char*>(base) + offset);
}

// One direction of a channel to one peer: what a kernel exchanges with the proxy thread or with a
// peer's kernel.
class Connection {
 public:
  Connection(const Layout& layout, void* info) : layout_(&layout), info_(info) {}

  volatile std::uint64_t* head() const {
    return field<volatile std::uint64_t*>(info_, layout_->conn.head);
  }
  volatile std::uint64_t* tail() const {
    return field<volatile std::uint64_t*>(info_, layout_->conn.tail);
  }
  std::uint64_t& step() const { return field<std::uint64_t>(info_, layout_->conn.step); }

  // Where the data of a step is. default_step_bytes: the distance of slots where the connection
  // doesn't say it.
  char* slot(std::uint64_t step, ssize_t default_step_bytes) const;
  // The same for LL and LL128, whose slots have fixed places.
  char* line_slot(Protocol protocol, std::uint64_t step, ssize_t step_bytes) const;
  // A proxy thread is between this end and the other.
  bool has_proxy() const { return sizes() != nullptr; }
  // Tells the proxy how much is in a slot.
  void set_size(std::uint64_t step, ssize_t bytes) const;

 private:
  char* sizes() const { return field<char*>(info_, layout_->conn.sizes); }

  const Layout* layout_;
  void* info_;
};

// A rank's place in a channel's tree. A rank without a parent is the root.
struct TreePlace {
  std::optional<int> parent;
  std::vector<int> children;
};

class Channel {
 public:
  Channel(const Layout& layout, void* channel) : layout_(&layout), channel_(channel) {}

  int ring_previous() const { return field<int>(channel_, layout_->channel.ring); }
  int ring_next() const { return field<int>(channel_, layout_->channel.ring + sizeof(int)); }
  // The ranks in ring order, ours first.
  const int* ring_ranks() const { return field<const int*>(channel_, layout_->channel.ring_ranks); }
  // Our place in the ring as all ranks number it.
  int ring_index() const { return field<int>(channel_, layout_->channel.ring_index); }
  TreePlace tree() const;
  // index: 0 for collectives, 1 for send and receive.
  Connection to(int peer, int index) const { return connection(peer, index); }
  Connection from(int peer, int index) const { return connection(peer, kConnections + index); }
  volatile std::uint32_t* work_done() const {
    return field<volatile std::uint32_t*>(channel_, layout_->channel.work_done);
  }
  // How many works its kernels have done; null where the version doesn't count.
  std::uint64_t* work_counter() const {
    const std::size_t at = layout_->profiler.counter;
    return at == 0 ? nullptr : &field<std::uint64_t>(channel_, at);
  }

 private:
  static constexpr int kConnections = 2;  // NCCL_MAX_CONNS
  Connection connection(int peer, int index) const;

  const Layout* layout_;
  void* channel_;
};

class Communicator {
 public:
  Communicator(const Layout& layout, void* comm) : layout_(&layout), comm_(comm) {}

  int rank() const { return field<int>(comm_, 0); }
  int nranks() const { return field<int>(comm_, sizeof(int)); }
  ssize_t step_bytes(Protocol protocol = Protocol::kSimple) const;
  ssize_t p2p_step_bytes() const {
    return layout_->comm.p2p_chunk == 0 ? step_bytes() : field<int>(comm_, layout_->comm.p2p_chunk);
  }
  // Not null, and not 0 once the communicator is to end.
  const volatile std::uint32_t* abort_flag() const {
    return field<const volatile std::uint32_t*>(comm_, layout_->comm.abort);
  }
  Channel channel(int index) const;
  // Where to tell how far the work queue was read; null where the version has none.
  volatile std::uint32_t* work_consumed(int channel) const;
  // What NCCL's profiler is told, per channel; null where the version has none.
  char* works_started() const { return pointer(layout_->profiler.started); }
  char* works_completed() const { return pointer(layout_->profiler.completed); }
  const Layout& layout() const { return *layout_; }

 private:
  char* pointer(std::size_t offset) const {
    return offset == 0 ? nullptr : field<char*>(comm_, offset);
  }

  const Layout* layout_;
  void* comm_;
};

}  // namespace softcuda
