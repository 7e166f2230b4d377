// For a while no signal is handled on this thread, and the ones that writing to a file can raise
// (SIGXFSZ, SIGPIPE) are taken away again.
#pragma once

#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <initializer_list>

namespace nnd::context {

class QuietSignals {
 public:
  QuietSignals() noexcept {
    sigset_t all;
    ::sigfillset(&all);
    // A fault on a mapped file must reach its handler: the kernel kills where SIGBUS is blocked.
    ::sigdelset(&all, SIGBUS);
    ::pthread_sigmask(SIG_SETMASK, &all, &saved_);
    ::sigpending(&pending_);
  }
  ~QuietSignals() {
    for (const int signal : {SIGXFSZ, SIGPIPE}) {
      sigset_t one;
      ::sigemptyset(&one);
      ::sigaddset(&one, signal);
      const timespec now{};
      if (::sigismember(&pending_, signal) == 0) ::sigtimedwait(&one, nullptr, &now);
    }
    ::pthread_sigmask(SIG_SETMASK, &saved_, nullptr);
  }
  QuietSignals(const QuietSignals&) = delete;
  QuietSignals& operator=(const QuietSignals&) = delete;

 private:
  sigset_t saved_{};
  sigset_t pending_{};
};

}  // namespace nnd::context
