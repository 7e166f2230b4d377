// What NCCL calls primitives: wait for a slot, copy or reduce, post it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "connection.h"
#include "function.h"

namespace softcuda {

// How a chunk is cut: slices per chunk, and steps (slots) that a slice takes. With protocol Simple,
// the rings of all-gather, all-reduce and reduce-scatter cut a chunk of 4 steps into 2 slices; all
// else moves one step at a time (src/include/collectives.h, the same since 2.18).
struct Slicing {
  int slices, steps;
};
inline constexpr Slicing kHalves{2, 2};
inline constexpr Slicing kSingle{1, 1};

class Primitives {
 public:
  // receive, send: empty where there is no such side; in a tree there may be several, and what is
  // sent goes to all. step_bytes: size of a slot. The function says the protocol.
  Primitives(const Communicator& comm, const std::vector<Connection>& receive,
             const std::vector<Connection>& send, Slicing slicing, ssize_t step_bytes,
             const Function& function, std::uint64_t op_arg = 0);
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
  struct Link {
    Connection connection;
    std::uint64_t step;            // the next one
    std::vector<char> lines = {};  // LL, LL128: the data of a slot, without flags
  };

  // last: what is reduced here is what everybody gets.
  void move(const char* own, char* to, bool receiving, bool sending, ssize_t count,
            bool last = false);
  const char* take(Link& link, std::size_t bytes);
  void wait_free(const Link& link, std::size_t bytes);
  const char* prepared(const char* own, ssize_t count);
  const char* combine(const char* own, char* to, bool sending, ssize_t count, bool last);
  void put(const Link& link, const char* data, std::size_t bytes);
  bool in_lines() const { return function_.protocol != Protocol::kSimple; }
  template <typename Ready>
  void wait(Ready ready);

  std::vector<Link> receive_, send_;
  const Slicing slicing_;
  const ssize_t step_bytes_;
  const Function function_;
  const std::uint64_t op_arg_;
  const volatile std::uint32_t* const abort_;
  std::vector<const char*> inputs_;  // of the slice that is being moved
  std::vector<char> own_;            // of the slice, scaled
  std::vector<char> sum_;            // LL, LL128: what is to be sent and kept nowhere
  bool aborted_ = false;
};

}  // namespace softcuda
