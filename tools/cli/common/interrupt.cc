#include "cli/common/interrupt.h"

#include <signal.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <thread>

namespace nnd::cli {

namespace {

constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP};
volatile std::sig_atomic_t g_seen = 0;
std::array<struct sigaction, kSignals.size()> g_before;
struct sigaction g_pipe_before;

void note(int /*signal*/) { g_seen = 1; }

}  // namespace

InterruptGuard::InterruptGuard() {
  g_seen = 0;
  struct sigaction action {};
  action.sa_handler = note;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], &action, &g_before[i]);
    // nohup and shells that run it in the background have it ignore some.
    if (g_before[i].sa_handler == SIG_IGN) sigaction(kSignals[i], &g_before[i], nullptr);
  }
  action.sa_handler = [](int) {};  // and not SIG_IGN, which the ranks would inherit
  action.sa_flags = SA_RESTART;
  sigaction(SIGPIPE, &action, &g_pipe_before);
}

InterruptGuard::~InterruptGuard() {
  sigaction(SIGPIPE, &g_pipe_before, nullptr);
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &g_before[i], nullptr);
}

bool InterruptGuard::interrupted() { return g_seen != 0; }

void InterruptGuard::sleep_until(std::chrono::steady_clock::time_point then) {
  using Clock = std::chrono::steady_clock;
  while (Clock::now() < then && !interrupted())
    std::this_thread::sleep_for(std::min<Clock::duration>(kInterruptPause, then - Clock::now()));
}

}  // namespace nnd::cli
