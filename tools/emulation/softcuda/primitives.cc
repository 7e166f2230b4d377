#include "primitives.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "give_way.h"
#include "lines.h"
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

Primitives::Primitives(const Communicator& comm, const std::vector<Connection>& receive,
                       const std::vector<Connection>& send, Slicing slicing, ssize_t step_bytes,
                       const Function& function, std::uint64_t op_arg)
    : slicing_(slicing),
      step_bytes_(step_bytes),
      function_(function),
      op_arg_(op_arg),
      abort_(comm.abort_flag()) {
  const int chunk_steps = slicing.slices * slicing.steps;
  for (const Connection& from : receive) {
    receive_.push_back({from, round_up(from.step(), chunk_steps)});
    if (!in_lines()) *from.head() = receive_.back().step;  // gives back the steps that were skipped
  }
  for (const Connection& to : send) send_.push_back({to, round_up(to.step(), chunk_steps)});
}

Primitives::~Primitives() {
  for (const Link& link : receive_) link.connection.step() = link.step;
  for (const Link& link : send_) link.connection.step() = link.step;
}

template <typename Ready>
void Primitives::wait(Ready ready) {
  for (int looks = 0; !aborted_ && !ready(); pause_after(++looks))
    if (abort_ != nullptr && *abort_ != 0) aborted_ = true;
  std::atomic_thread_fence(std::memory_order_acquire);
}

// Waits for the data of a step; null when aborted.
const char* Primitives::take(Link& link, std::size_t bytes) {
  const Connection& from = link.connection;
  // What comes over the network is whole once the proxy says so: the lines of a message are not
  // written in order everywhere. Without a proxy only the flags tell.
  const auto steps = static_cast<std::uint64_t>(slicing_.steps);
  if (!in_lines() || from.has_proxy()) wait([&] { return *from.tail() >= link.step + steps; });
  if (aborted_) return nullptr;
  if (!in_lines()) return from.slot(link.step, step_bytes_);
  const char* slot = from.line_slot(function_.protocol, link.step, step_bytes_);
  link.lines.resize(bytes);
  std::size_t done = 0;
  wait([&] {
    return read_lines(function_.protocol, slot, link.lines.data(), bytes, link.step + 1, &done);
  });
  return aborted_ ? nullptr : link.lines.data();
}

void Primitives::wait_free(const Link& link, std::size_t bytes) {
  const auto steps = static_cast<std::uint64_t>(slicing_.steps);
  wait([&] { return *link.connection.head() + kSteps >= link.step + steps; });
  const std::size_t size = in_lines() ? bytes_in_lines(function_.protocol, bytes) : bytes;
  if (!aborted_) link.connection.set_size(link.step, static_cast<ssize_t>(size));
}

// What is our own, as it goes into the sum.
const char* Primitives::prepared(const char* own, ssize_t count) {
  if (own == nullptr || function_.operation != Operation::kPreMulSum) return own;
  own_.resize(static_cast<std::size_t>(count * size_of(function_.type)));
  scale(function_, op_arg_, own_.data(), own, static_cast<std::size_t>(count));
  return own_.data();
}

// What has come in, reduced with what is our own; where that stands.
const char* Primitives::combine(const char* own, char* to, bool sending, ssize_t count, bool last) {
  if (inputs_.empty()) return own;
  if (own == nullptr) return inputs_.front();
  char* target = to;
  if (target == nullptr && in_lines()) {
    sum_.resize(static_cast<std::size_t>(count * size_of(function_.type)));
    target = sum_.data();
  } else if (target == nullptr && sending) {
    target = send_.front().connection.slot(send_.front().step, step_bytes_);
  }
  const char* left = own;
  for (const char* input : inputs_) {
    reduce(function_, op_arg_, target, left, input, static_cast<std::size_t>(count));
    left = target;
  }
  if (last) finish(function_, op_arg_, target, static_cast<std::size_t>(count));
  return target;
}

void Primitives::put(const Link& link, const char* data, std::size_t bytes) {
  const Connection& to = link.connection;
  if (in_lines()) {
    write_lines(function_.protocol, to.line_slot(function_.protocol, link.step, step_bytes_), data,
                bytes, link.step + 1);
    return;
  }
  char* slot = to.slot(link.step, step_bytes_);
  if (bytes > 0 && slot != data) std::memcpy(slot, data, bytes);
}

void Primitives::move(const char* own, char* to, bool receiving, bool sending, ssize_t count,
                      bool last) {
  const softverbs::Dma dma;
  const ssize_t size = size_of(function_.type);
  const auto steps = static_cast<std::uint64_t>(slicing_.steps);
  count = std::max<ssize_t>(count, 0);
  ssize_t slice = count;
  if (!in_lines())
    slice = std::max(div_up(count, ssize_t{16} * slicing_.slices) * 16,
                     step_bytes_ / size * slicing_.steps / 32);
  ssize_t done = 0;
  for (int i = 0; i < slicing_.slices; ++i, done += slice) {
    slice = std::min(slice, count - done);
    const auto bytes = static_cast<std::size_t>(slice * size);
    inputs_.clear();
    if (receiving)
      for (Link& link : receive_) inputs_.push_back(take(link, bytes));
    if (sending)
      for (const Link& link : send_) wait_free(link, bytes);
    if (aborted_) return;
    char* target = to == nullptr ? nullptr : to + done * size;
    const char* mine = prepared(own == nullptr ? nullptr : own + done * size, slice);
    const char* result = combine(mine, target, sending, slice, last);
    if (bytes > 0 && target != nullptr && target != result) std::memmove(target, result, bytes);
    if (sending)
      for (const Link& link : send_) put(link, result, bytes);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    got_on();
    if (receiving)
      for (Link& link : receive_) *link.connection.head() = link.step += steps;
    if (sending)
      for (Link& link : send_) {
        link.step += steps;
        if (!in_lines() || link.connection.has_proxy()) *link.connection.tail() = link.step;
      }
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
  move(own, copy_to, true, true, count, copy_to != nullptr);
}
void Primitives::reduce_into(const char* own, char* to, ssize_t count) {
  move(own, to, true, false, count, true);
}

}  // namespace softcuda
