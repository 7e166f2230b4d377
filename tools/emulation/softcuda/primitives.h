// What NCCL calls primitives: wait for a slot, copy or reduce, post it. Protocol Simple.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "connection.h"
#include "function.h"

namespace softcuda {

// How a chunk is cut: slices per chunk, and steps (slots) that a slice takes. All-gather,
// all-reduce and reduce-scatter cut a chunk of 4 steps into 2 slices; the others move one step at a
// time (src/include/collectives.h, the same since 2.18).
struct Slicing {
  int slices, steps;
};
inline constexpr Slicing kHalves{2, 2};
inline constexpr Slicing kSingle{1, 1};

class Primitives {
 public:
  // receive, send: absent where there is no such side. step_bytes: size of a step.
  Primitives(const Communicator& comm, std::optional<Connection> receive,
             std::optional<Connection> send, Slicing slicing, ssize_t step_bytes,
             const Function& function = {}, std::uint64_t op_arg = 0);
  ~Primitives();
  Primitives(const Primitives&) = delete;
  Primitives& operator=(const Primitives&) = delete;

  // Each moves count elements (negative counts as 0, and still takes its steps). Null destinations
  // are left out.
  void send(const char* from, char* copy_to, ssize_t count);
  void receive(char* to, ssize_t count);
  void receive_and_send(char* copy_to, ssize_t count);
  void reduce_and_send(const char* own, char* copy_to, ssize_t count);
  void reduce_into(const char* own, char* to, ssize_t count);

  // The communicator is being aborted: nothing moves any more.
  bool aborted() const { return aborted_; }

 private:
  void move(const char* own, char* to, bool receiving, bool sending, ssize_t count);
  template <typename Ready>
  void wait(Ready ready);

  const std::optional<Connection> receive_, send_;
  const Slicing slicing_;
  const ssize_t step_bytes_;
  const Function function_;
  const std::uint64_t op_arg_;
  const volatile std::uint32_t* const abort_;
  std::uint64_t received_ = 0, sent_ = 0;  // steps
  bool aborted_ = false;
};

}  // namespace softcuda
