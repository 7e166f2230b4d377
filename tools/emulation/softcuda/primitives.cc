#include "primitives.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "give_way.h"
#include "reduce.h"
#include "softverbs/verbs/dma.h"

namespace softcuda {
namespace {

std::uint64_t round_up(std::uint64_t value, int to) {
  const auto unit = static_cast<std::uint64_t>(to);
  return (value + unit - 1) / unit * unit;
}

ssize_t div_up(ssize_t value, ssize_t by) { return (value + by - 1) / by; }

}  // namespace

Primitives::Primitives(const Communicator& comm, std::optional<Connection> receive,
                       std::optional<Connection> send, Slicing slicing, ssize_t step_bytes,
                       const Function& function, std::uint64_t op_arg)
    : receive_(receive),
      send_(send),
      slicing_(slicing),
      step_bytes_(step_bytes),
      function_(function),
      op_arg_(op_arg),
      abort_(comm.abort_flag()) {
  const int chunk_steps = slicing.slices * slicing.steps;
  if (receive_) {
    received_ = round_up(receive_->step(), chunk_steps);
    *receive_->head() = received_;  // gives back the steps that were skipped
  }
  if (send_) sent_ = round_up(send_->step(), chunk_steps);
}

Primitives::~Primitives() {
  if (receive_) receive_->step() = received_;
  if (send_) send_->step() = sent_;
}

template <typename Ready>
void Primitives::wait(Ready ready) {
  for (int looks = 0; !aborted_ && !ready(); pause_after(++looks))
    if (abort_ != nullptr && *abort_ != 0) aborted_ = true;
  std::atomic_thread_fence(std::memory_order_acquire);
}

void Primitives::move(const char* own, char* to, bool receiving, bool sending, ssize_t count) {
  const softverbs::Dma dma;
  const ssize_t size = size_of(function_.type);
  const auto steps = static_cast<std::uint64_t>(slicing_.steps);
  count = std::max<ssize_t>(count, 0);
  ssize_t slice = std::max(div_up(count, ssize_t{16} * slicing_.slices) * 16,
                           step_bytes_ / size * slicing_.steps / 32);
  ssize_t done = 0;
  for (int i = 0; i < slicing_.slices; ++i, done += slice) {
    slice = std::min(slice, count - done);
    const ssize_t bytes = slice * size;
    const auto length = static_cast<std::size_t>(bytes);
    const char* in = nullptr;
    char* out = nullptr;
    if (receiving) {
      wait([&] { return *receive_->tail() >= received_ + steps; });
      if (!aborted_) in = receive_->slot(received_, step_bytes_);
    }
    if (sending) {
      wait([&] { return *send_->head() + kSteps >= sent_ + steps; });
      if (aborted_) return;
      send_->set_size(sent_, bytes);
      out = send_->slot(sent_, step_bytes_);
    }
    if (aborted_) return;
    const char* mine = own == nullptr ? nullptr : own + done * size;
    char* target = to == nullptr ? nullptr : to + done * size;
    const char* result = in != nullptr ? in : mine;
    if (in != nullptr && mine != nullptr) {
      char* reduced = target != nullptr ? target : out;
      reduce(function_, op_arg_, reduced, mine, in, static_cast<std::size_t>(slice));
      result = reduced;
    }
    if (length > 0 && target != nullptr && target != result) std::memmove(target, result, length);
    if (length > 0 && out != nullptr && out != result) std::memcpy(out, result, length);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (receiving) *receive_->head() = received_ += steps;
    if (sending) *send_->tail() = sent_ += steps;
  }
}

void Primitives::send(const char* from, char* copy_to, ssize_t count) {
  move(from, copy_to == from ? nullptr : copy_to, false, true, count);
}
void Primitives::receive(char* to, ssize_t count) { move(nullptr, to, true, false, count); }
void Primitives::receive_and_send(char* copy_to, ssize_t count) {
  move(nullptr, copy_to, true, true, count);
}
void Primitives::reduce_and_send(const char* own, char* copy_to, ssize_t count) {
  move(own, copy_to, true, true, count);
}
void Primitives::reduce_into(const char* own, char* to, ssize_t count) {
  move(own, to, true, false, count);
}

}  // namespace softcuda
