// Processes that keep a black box, written by the recorder itself.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <utility>

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

// A process that holds a file for writing, as one holds its box, and waits to be ended.
class Holder {
 public:
  // `user`: whose it is; 0: as this one.
  Holder(const std::string& file, const std::string& bytes, uid_t user = 0) {
    int ready[2];
    if (::pipe(ready) != 0) return;
    pid_ = ::fork();
    if (pid_ == 0) {
      ::alarm(60);
      if (user != 0 && ::setuid(user) != 0) ::_exit(1);
      const int fd = ::open(file.c_str(), O_RDWR | O_CREAT, 0600);
      if (::write(fd, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) ::_exit(1);
      ::close(ready[0]);
      ::close(ready[1]);
      for (;;) ::pause();
    }
    ::close(ready[1]);
    char none = 0;
    static_cast<void>(::read(ready[0], &none, 1));  // until it is closed
    ::close(ready[0]);
  }
  ~Holder() { end(); }
  Holder(Holder&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
  Holder& operator=(Holder&&) = delete;

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
inline void open_connection(state::ConnectionKind kind) {
  static int comm;
  state::Identity about;
  about.dir =
      kind == state::ConnectionKind::kSend ? state::Direction::kSend : state::Direction::kRecv;
  state::Connection* const c = state::open_connection(kind, 11, about, nullptr);
  state::hand_out(*c, &comm);
  c->count_post(1);
  c->count_done(1, 2, 1000);
  c->count_post(3);
}

}  // namespace nnd::test
