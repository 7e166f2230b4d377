// A TCP connection to a server that may never answer: nothing on it takes longer than until then,
// or than nobody has said stop. One thread.
#pragma once

#include <netdb.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace nnd::wire {

class BoundedSocket {
 public:
  using Clock = std::chrono::steady_clock;

  // stop has to outlive it.
  BoundedSocket(Clock::time_point until, const std::atomic<bool>& stop)
      : until_(until), stop_(stop) {}
  ~BoundedSocket() { close(); }
  BoundedSocket(const BoundedSocket&) = delete;
  BoundedSocket& operator=(const BoundedSocket&) = delete;

  // Each gives 0 or an errno, ETIMEDOUT where it took too long or was stopped.
  int open(const addrinfo& to);
  int send(std::string_view text);
  // Adds what has come, `most` bytes at most; `ended`: no more does.
  int receive(std::string& text, std::size_t most, bool& ended);

 private:
  bool wait(short events) const;
  void close();

  Clock::time_point until_;
  const std::atomic<bool>& stop_;
  int fd_ = -1;
};

}  // namespace nnd::wire
