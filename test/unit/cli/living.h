// Processes that keep a black box, written by the recorder itself.
#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>

#include "record/recorder.h"
#include "state/connections.h"

namespace nnd::test {

// A process that keeps one, does something and waits to be ended.
class Living {
 public:
  Living(const std::string& log, const std::function<void()>& work) {
    pid_ = ::fork();
    if (pid_ != 0) return;
    ::alarm(60);
    nnd::config::Settings settings;
    settings.file = log;
    record::start(settings);
    work();
    for (;;) ::pause();
  }
  ~Living() { end(); }
  Living(const Living&) = delete;
  Living& operator=(const Living&) = delete;

  int pid() const { return pid_; }
  void end() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  pid_t pid_ = -1;
};

// As NCCL has it, with a request in flight.
inline void open_connection(state::Kind kind) {
  static int comm;
  state::About about;
  about.dir = kind == state::Kind::kSend ? state::Direction::kSend : state::Direction::kRecv;
  state::Connection* const c = state::open_connection(kind, 11, about, nullptr);
  state::hand_out(*c, &comm);
  c->count_post(1);
  c->count_done(1, 2, 1000);
  c->count_post(3);
}

}  // namespace nnd::test
