#include "work_counter.h"

#include <time.h>

#include <atomic>

namespace softcuda {
namespace {

constexpr std::size_t kCounterBytes = sizeof(std::uint64_t);

std::uint64_t now_ns() {  // what a GPU's %globaltimer counts
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

// NCCL's proxy thread looks at it.
void publish(char* counter, std::uint64_t value) {
  std::atomic_ref(field<std::uint64_t>(counter, 0)).store(value, std::memory_order_release);
}

}  // namespace

void WorkCounter::start(const std::vector<bool>& told) { tell(comm_.works_started(), told); }

void WorkCounter::complete(const std::vector<bool>& told) {
  tell(comm_.works_completed(), told);
  if (auto* counter = comm_.channel(channel_).work_counter()) *counter += told.size();
}

void WorkCounter::tell(char* counters, const std::vector<bool>& told) const {
  if (counters == nullptr) return;
  const std::size_t bytes = comm_.layout().profiler.bytes;
  char* own = counters + static_cast<std::size_t>(channel_) * bytes;
  std::uint64_t number = *comm_.channel(channel_).work_counter();
  if (bytes == kCounterBytes) return publish(own, number + told.size());
  constexpr std::size_t kEntryBytes = 2 * kCounterBytes;  // counter, timestamp
  for (const bool wanted : told) {
    char* entry = own + ++number * kEntryBytes % bytes;
    if (!wanted) continue;
    field<std::uint64_t>(entry, kCounterBytes) = now_ns();
    publish(entry, number);
  }
}

}  // namespace softcuda
