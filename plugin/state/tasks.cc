#include "state/tasks.h"

#include <algorithm>
#include <string_view>

#include "context/memory_order.h"
#include "context/raw_clock.h"

namespace nnd::state {

namespace {

using context::kAcquire;
using context::kRelaxed;
using context::kRelease;

// A task's time is counted when so many were made after it, and it is over.
constexpr std::uint64_t kSettledAfter = 16;

}  // namespace

PhaseTime& LastTasks::phase(Task& task, Phase phase) noexcept {
  task.timed.store(true, kRelaxed);
  const auto place = static_cast<std::size_t>(&task - room_.tasks.data());
  return room_.phases[place][static_cast<std::size_t>(phase)];
}

// NCCL works at one collective of a communicator after the other: one that was asked for while
// another went on has begun when that ended.
void LastTasks::count_busy(CallCount& count, std::uint64_t bytes, std::uint64_t began,
                           std::uint64_t ended) noexcept {
  const std::uint64_t before = last_end_.load(kRelaxed);
  if (ended <= before || count.element_bytes == 0) return;
  last_end_.store(ended, kRelaxed);
  SizeTime& time = count.by_size[bucket_of(bytes)];
  time.calls.fetch_add(1, kRelaxed);
  time.bytes.fetch_add(bytes, kRelaxed);
  time.ns.fetch_add(context::raw_clock::elapsed_ns(std::max(began, before), ended), kRelaxed);
}

// Its times go into what it is counted with.
void LastTasks::settle(Task& task) noexcept {
  CallCount* const count = task.what.load(kRelaxed);
  const std::uint64_t began = task.began.load(kRelaxed);
  const OpCount ops = task.count();
  const bool over = !task.counted.exchange(true, kRelaxed) && ops.begun() != 0 && !ops.open();
  if (count != nullptr && over) {
    const std::uint64_t ended = task.changed.load(kRelaxed);
    const std::uint64_t ns = context::raw_clock::elapsed_ns(began, ended);
    count->took[bucket_of(ns)].fetch_add(1, kRelaxed);
    if (!transfers_) count_busy(*count, task.bytes.load(kRelaxed), began, ended);
  }
  if (!task.timed.exchange(false, kRelaxed)) return;
  for (std::size_t p = 0; p < kPhases; ++p) {
    PhaseTime& time = phase(task, static_cast<Phase>(p));
    const std::uint32_t begun = time.begun.exchange(0, kRelaxed);
    const std::uint32_t ended = time.ended.exchange(0, kRelaxed);
    const std::uint64_t ticks = time.ticks.exchange(0, kRelaxed);
    // NCCL 2.24 to 2.26 lose ends.
    if (count == nullptr || !over || begun == 0 || begun != ended) continue;
    count->phases[p].steps.fetch_add(begun, kRelaxed);
    count->phases[p].ns.fetch_add(context::raw_clock::to_ns(ticks), kRelaxed);
  }
  task.timed.store(false, kRelaxed);
}

void LastTasks::settle() noexcept {
  const std::uint64_t next = made.load(kRelaxed) + 1;  // the oldest has its place
  for (std::uint64_t n = 0; n < kKept; ++n)
    if (Task& task = room_.tasks[(next + n) % kKept]; task.ordinal.exchange(0, kRelaxed) != 0)
      settle(task);
}

// In their order, as far as they are over; what a program that runs ahead leaves is caught up with.
void LastTasks::settle_before(std::uint64_t ordinal) noexcept {
  constexpr int kMost = 2;
  std::uint64_t next = settled_.load(kRelaxed) + 1;
  for (int n = 0; n < kMost && next + kSettledAfter <= ordinal; ++n, ++next) {
    Task* const task = find(next);
    if (task == nullptr || task->count().begun() == 0) continue;
    if (task->count().open()) break;
    settle(*task);
  }
  settled_.store(next - 1, kRelaxed);
}

Task* LastTasks::make(std::uint64_t& ordinal) noexcept {
  ordinal = made.fetch_add(1, kRelaxed) + 1;
  settle_before(ordinal);
  Task& task = room_.tasks[ordinal % kKept];
  if (task.ordinal.load(kRelaxed) != 0) {
    if (task.count().open()) return nullptr;
    settle(task);
  }
  task.ordinal.store(0, kRelaxed);  // a reader that meets what follows looks again
  task.what.store(nullptr, kRelease);
  task.numbered.store(false, kRelease);
  task.progress.store(Progress::kNone, kRelease);
  task.counted.store(false, kRelease);
  task.channels.store(0, kRelease);
  task.ops.store(0, kRelease);
  task.ordinal.store(ordinal, kRelease);
  return &task;
}

void LastTasks::begin_op(std::uint64_t ordinal, std::uint32_t channel) noexcept {
  if (!counts_ops_) return;
  Task* const task = find(ordinal);
  if (task == nullptr) {
    if (!has_made(ordinal)) return;  // none of ours
    const bool first = lost_begun_.load(kRelaxed) == lost_ended_.load(kRelaxed);
    if (first || ordinal < lost_from_.load(kRelaxed)) lost_from_.store(ordinal, kRelease);
    lost_begun_.fetch_add(1, kRelease);
    return;
  }
  const CallCount* const what = task->what.load(kRelaxed);
  if (what != nullptr && !what->ends_told) return;
  const std::uint64_t bit = std::uint64_t{1} << (channel & 63);
  if ((task->channels.load(kRelaxed) & bit) == 0) task->channels.fetch_or(bit, kRelaxed);
  const OpCount before{task->ops.fetch_add(OpCount::kBegun, kRelease)};
  if (!before.open()) open_.fetch_add(1, kRelaxed);
}

void LastTasks::end_op(std::uint64_t ordinal, std::uint64_t raw_now) noexcept {
  Task* const task = find(ordinal);
  if (task == nullptr) {
    if (lost_begun_.load(kRelaxed) != lost_ended_.load(kRelaxed))
      lost_ended_.fetch_add(1, kRelease);
    return;
  }
  if (!task->count().open()) return;
  task->changed.store(raw_now, kRelaxed);
  const OpCount before{task->ops.fetch_add(OpCount::kEnded, kRelease)};
  if (before.begun() == before.ended() + 1) open_.fetch_sub(1, kRelaxed);
}

bool LastTasks::read(std::uint64_t ordinal, TaskSeen& seen) const noexcept {
  const Task& task = room_.tasks[ordinal % kKept];
  if (task.ordinal.load(kAcquire) != ordinal) return false;
  TaskSeen now;
  now.ordinal = ordinal;
  if (const CallCount* const what = task.what.load(kAcquire)) now.func = what->func;
  const std::uint64_t number = task.number.load(kAcquire);
  const bool numbered = task.numbered.load(kAcquire);
  now.has_seq = numbered && !transfers_;
  if (now.has_seq) now.seq = number;
  if (numbered && transfers_) now.peer = static_cast<std::int32_t>(number);
  now.bytes = task.bytes.load(kAcquire);
  now.progress = task.progress.load(kAcquire);
  const OpCount ops = task.count();
  now.ops = ops.begun();
  now.ops_done = ops.ended();
  now.began = task.began.load(kAcquire);
  now.changed = task.changed.load(kAcquire);
  if (task.ordinal.load(kRelaxed) != ordinal) return false;
  seen = now;
  return true;
}

bool LastTasks::newest(TaskSeen& seen) const noexcept {
  const std::uint64_t last = made.load(kRelaxed);
  return last != 0 && read(last, seen);
}

bool LastTasks::may_be(const Task& task, const Work& work) const noexcept {
  if (work.channel >= 0 && (task.channels.load(kAcquire) >> (work.channel & 63) & 1) == 0)
    return false;
  if (!transfers_ || work.peer < 0) return true;
  const CallCount* const what = task.what.load(kAcquire);
  return task.numbered.load(kAcquire) &&
         task.number.load(kAcquire) == static_cast<std::uint64_t>(work.peer) && what != nullptr &&
         std::string_view(what->func) == (work.sends ? "Send" : "Recv");
}

std::optional<std::uint64_t> LastTasks::unknown_from() const noexcept {
  const std::uint64_t ended = lost_ended_.load(kAcquire);
  if (lost_begun_.load(kAcquire) == ended) return std::nullopt;
  return lost_from_.load(kAcquire);
}

// The newest first: as a rule they are among the last that were made.
bool LastTasks::unfinished(TaskSeen& seen, const Work& work) const noexcept {
  std::uint32_t left = open_.load(kAcquire);
  std::uint64_t oldest = 0;
  const std::uint64_t last = made.load(kRelaxed);
  for (std::uint64_t back = 0; back < kKept && left != 0; ++back) {
    const Task& task = room_.tasks[(last - back) % kKept];
    const std::uint64_t ordinal = task.ordinal.load(kAcquire);
    if (ordinal == 0 || !task.count().open()) continue;
    --left;
    if ((oldest == 0 || ordinal < oldest) && may_be(task, work)) oldest = ordinal;
  }
  if (oldest == 0 || unknown_from().value_or(oldest) < oldest) return false;
  return read(oldest, seen) && seen.ops != seen.ops_done;
}

}  // namespace nnd::state
