#include "cli/common/interrupt.h"

#include <signal.h>

#include <array>
#include <csignal>

namespace nnd::cli {

namespace {

constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP};
volatile std::sig_atomic_t seen = 0;
std::array<struct sigaction, kSignals.size()> before;

void note(int /*signal*/) { seen = 1; }

}  // namespace

InterruptGuard::InterruptGuard() {
  seen = 0;
  struct sigaction action {};
  action.sa_handler = note;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &action, &before[i]);
}

InterruptGuard::~InterruptGuard() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before[i], nullptr);
}

bool InterruptGuard::interrupted() { return seen != 0; }

}  // namespace nnd::cli
