#include "record/exit_status.h"

#include <signal.h>

#include <atomic>
#include <cstdlib>

namespace nnd::record {

namespace {

constexpr int kNone = -1;
std::atomic<int> g_status{kNone};
std::atomic<bool> g_watched{false};

void note(int status, void* /*unused*/) { g_status = status & 0xff; }

}  // namespace

void watch_exit() noexcept {
  // The plugin is never unloaded, and its destructors run after this.
  if (!g_watched.exchange(true)) static_cast<void>(::on_exit(note, nullptr));
}

std::optional<int> exit_status() noexcept {
  const int status = g_status;
  return status == kNone ? std::nullopt : std::optional(status);
}

bool catches_sigterm() noexcept {
  struct sigaction now {};
  return ::sigaction(SIGTERM, nullptr, &now) == 0 && now.sa_handler != SIG_DFL &&
         now.sa_handler != SIG_IGN;
}

}  // namespace nnd::record
