#include "state/communicator.h"

#include <algorithm>
#include <bit>
#include <span>
#include <string_view>

#include "context/raw_clock.h"

namespace nnd::state {

namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr auto kAcquire = std::memory_order_acquire, kRelease = std::memory_order_release;

std::string_view text_of(const char* text) { return text == nullptr ? "" : text; }

// 0: not known.
std::uint32_t bytes_of(std::string_view datatype) {
  struct Size {
    std::string_view part;
    std::uint32_t bytes;
  };
  constexpr Size kSizes[] = {{"8", 1}, {"16", 2}, {"32", 4}, {"64", 8}};
  const std::size_t digit = datatype.find_first_of("0123456789");
  if (digit == datatype.npos) return 0;
  const std::size_t end = datatype.find_first_not_of("0123456789", digit);
  const std::string_view number = datatype.substr(digit, end - digit);
  for (const Size& size : kSizes)
    if (number == size.part) return size.bytes;
  return 0;
}

void fill(CallCount& count, const CallKind& kind) {
  count.kind = kind;
  count.func = text_of(kind.func);
  count.datatype = text_of(kind.datatype);
  count.algo = text_of(kind.algo);
  count.proto = text_of(kind.proto);
  count.element_bytes = bytes_of(count.datatype);
}

}  // namespace

void CallCount::count(std::uint64_t elements) noexcept {
  const std::uint64_t size = elements * element_bytes;
  calls.fetch_add(1, kRelaxed);
  bytes.fetch_add(size, kRelaxed);
  const std::size_t bucket = static_cast<std::size_t>(std::bit_width(size | 1)) - 1;
  sizes[std::min(bucket, kSizeBuckets - 1)].fetch_add(1, kRelaxed);
}

void Task::settle() noexcept {
  CallCount* const count = what.load(kRelaxed);
  const std::uint32_t all = ops.load(kRelaxed);
  const bool over = all != 0 && all == ops_done.load(kRelaxed);
  if (count != nullptr && over) {
    const std::uint64_t ns =
        context::raw_clock::to_ns(changed.load(kRelaxed) - began.load(kRelaxed));
    const std::size_t bucket = static_cast<std::size_t>(std::bit_width(ns | 1)) - 1;
    count->took[std::min(bucket, kSizeBuckets - 1)].fetch_add(1, kRelaxed);
  }
  for (std::size_t p = 0; p < kPhases; ++p) {
    if (phases[p].begun.load(kRelaxed) == 0) continue;
    const std::uint32_t begun = phases[p].begun.exchange(0, kRelaxed);
    const std::uint32_t ended = phases[p].ended.exchange(0, kRelaxed);
    const std::uint64_t ticks = phases[p].ticks.exchange(0, kRelaxed);
    // NCCL 2.24 to 2.26 lose ends.
    if (count == nullptr || !over || begun != ended) continue;
    count->phases[p].steps.fetch_add(begun, kRelaxed);
    count->phases[p].ns.fetch_add(context::raw_clock::to_ns(ticks), kRelaxed);
  }
}

void LastTasks::settle() noexcept {
  for (Task& task : tasks)
    if (task.ordinal.exchange(0, kRelaxed) != 0) task.settle();
}

Task& LastTasks::make() noexcept {
  const std::uint64_t ordinal = made.fetch_add(1, kRelaxed) + 1;
  Task& task = tasks[ordinal % kKept];
  if (task.ordinal.load(kRelaxed) != 0) task.settle();
  task.ordinal.store(0, kRelaxed);  // a reader that meets what follows looks again
  task.what.store(nullptr, kRelease);
  task.has_seq.store(false, kRelease);
  task.peer.store(-1, kRelease);
  task.progress.store(Progress::kNone, kRelease);
  task.ops.store(0, kRelease);
  task.ops_done.store(0, kRelease);
  task.ordinal.store(ordinal, kRelease);
  return task;
}

bool LastTasks::read(std::uint64_t ordinal, TaskSeen& seen) const noexcept {
  const Task& task = tasks[ordinal % kKept];
  if (task.ordinal.load(kAcquire) != ordinal) return false;
  TaskSeen now;
  now.ordinal = ordinal;
  if (const CallCount* const what = task.what.load(kAcquire)) now.func = what->func;
  now.seq = task.seq.load(kAcquire);
  now.has_seq = task.has_seq.load(kAcquire);
  now.bytes = task.bytes.load(kAcquire);
  now.progress = task.progress.load(kAcquire);
  now.ops_done = task.ops_done.load(kAcquire);
  now.ops = task.ops.load(kAcquire);
  now.changed = task.changed.load(kAcquire);
  if (task.ordinal.load(kRelaxed) != ordinal) return false;
  seen = now;
  return true;
}

bool LastTasks::newest(TaskSeen& seen) const noexcept {
  const std::uint64_t last = made.load(kRelaxed);
  return last != 0 && read(last, seen);
}

bool LastTasks::unfinished(TaskSeen& seen) const noexcept {
  const std::uint64_t last = made.load(kRelaxed);
  for (std::uint64_t n = last > kKept ? last - kKept + 1 : 1; n <= last; ++n) {
    TaskSeen one;
    if (!read(n, one) || one.ops == one.ops_done) continue;
    seen = one;
    return true;
  }
  return false;
}

CallCount* Communicator::count_of(const CallKind& kind, bool called_only) noexcept {
  const std::span<CallCount> counts =
      called_only ? std::span<CallCount>(called) : std::span<CallCount>(ran);
  for (CallCount& count : counts) {
    CallCount::Use use = count.use.load(std::memory_order_acquire);
    if (use == CallCount::Use::kReady && count.kind == kind) return &count;
    // A place that another thread is filling is passed over: two may come to count one kind.
    if (use != CallCount::Use::kFree ||
        !count.use.compare_exchange_strong(use, CallCount::Use::kBeingMade))
      continue;
    fill(count, kind);
    count.use.store(CallCount::Use::kReady, std::memory_order_release);
    return &count;
  }
  not_counted.fetch_add(1, kRelaxed);
  return nullptr;
}

}  // namespace nnd::state
