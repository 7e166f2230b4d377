// Ctrl-C and its like, seen instead of dying at once: a job's processes and files are to go first.
#pragma once

#include <chrono>

namespace nnd::cli {

// SIGINT, SIGTERM and SIGHUP are only noted as long as one lives (a second one ends the program at
// once), but for those that were ignored before, as nohup has it. SIGPIPE ends nothing: the work
// goes on where nobody reads what it tells. One at a time.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  static bool interrupted();  // since the guard was made
  // Until then, or until that.
  static void sleep_until(std::chrono::steady_clock::time_point then);
};

// How long a pause may be that nobody sees when he has pressed Ctrl-C.
inline constexpr auto kInterruptPause = std::chrono::milliseconds(50);

}  // namespace nnd::cli
