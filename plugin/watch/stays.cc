#include "watch/stays.h"

#include <algorithm>
#include <string_view>

#include "context/raw_clock.h"
#include "state/communicators.h"

namespace nnd::watch {

namespace {

constexpr std::uint64_t kAtOnce = 512;  // of more than that the oldest are passed over
// So many later ones: it has no operation over the network here.
constexpr std::uint64_t kHasNone = 16;

// Those that end for all ranks together, since each has something of all others.
bool ends_together(std::string_view func) {
  return func == "AllReduce" || func == "AllGather" || func == "ReduceScatter";
}

std::uint32_t us_of(std::uint64_t ticks_from, std::uint64_t ticks_to) {
  const std::uint64_t us = context::raw_clock::elapsed_ns(ticks_from, ticks_to) / 1000;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(us, ~std::uint32_t{0}));
}

}  // namespace

// NCCL works at one after the other: one that was asked for while another went on begins with that
// one's end.
void Stays::look(const state::Communicator& communicator, std::uint64_t comm,
                 std::vector<peers::Stay>& out) {
  const state::LastTasks& tasks = communicator.collectives;
  Seen& seen = seen_[comm];
  const std::uint64_t made = tasks.made.load(std::memory_order_relaxed);
  if (made > seen.ordinal + kAtOnce) seen.ordinal = made - kAtOnce;
  for (std::uint64_t next = seen.ordinal + 1; next <= made; ++next) {
    state::TaskSeen task;
    const bool known = tasks.read(next, task);
    if (known && !task.over() && (task.ops != 0 || next + kHasNone > made)) return;
    seen.ordinal = next;
    if (!known || !task.over()) continue;
    const std::uint64_t began = std::max(task.began, seen.ended);
    seen.ended = std::max(seen.ended, task.changed);
    if (ends_together(std::string_view(task.func)) && task.changed > began)
      out.push_back({comm, next, us_of(began, task.changed)});
  }
}

std::vector<peers::Stay> Stays::look() {
  std::vector<peers::Stay> out;
  std::map<std::uint64_t, Seen> still;
  state::for_each_communicator([&](const state::Communicator& communicator) {
    state::Membership member;
    if (!communicator.membership.get(member) || member.hash == 0) return;
    look(communicator, member.hash, out);
    still[member.hash] = seen_[member.hash];
  });
  seen_ = std::move(still);
  return out;
}

}  // namespace nnd::watch
