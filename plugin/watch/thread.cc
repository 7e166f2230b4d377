#include "watch/thread.h"

#include <time.h>
#include <unistd.h>

#include <atomic>
#include <mutex>

#include "context/clock.h"
#include "context/immortal.h"
#include "context/quiet.h"
#include "context/worker.h"
#include "record/recorder.h"
#include "watch/watch.h"

namespace nnd::watch {

namespace {

std::uint64_t to_ns(double sec) { return static_cast<std::uint64_t>(sec * 1e9); }

struct Running {
  explicit Running(const config::Settings& settings)
      : ages{to_ns(settings.connect_sec), to_ns(settings.stall_sec)}, watch(ages) {}

  Ages ages;
  Watch watch;
  context::Worker worker;
};

// The process that has the thread; 0: none.
std::atomic<pid_t> g_owner{0};

Running& running(const config::Settings& settings) {
  static context::Immortal<Running> instance(settings);
  return *instance;
}

void* body(void* argument) {
  auto& own = *static_cast<Running*>(argument);
  const std::uint64_t period_ns = own.ages.period_ns();
  const timespec period{static_cast<time_t>(period_ns / 1'000'000'000),
                        static_cast<long>(period_ns % 1'000'000'000)};
  for (;;) {
    ::nanosleep(&period, nullptr);
    if (record::running()) context::quietly([&] { own.watch.look(context::mono_ns()); });
  }
}

}  // namespace

void start(const config::Settings& settings) noexcept {
  const pid_t self = ::getpid();
  if (settings.disable || g_owner.exchange(self) == self) return;
  context::quietly([&] {
    Running& own = running(settings);
    own.watch.forget();  // a parent's
    if (!own.worker.start("nnd-watch", body, &own)) g_owner.store(0);
  });
}

}  // namespace nnd::watch
