// A file descriptor that is closed in the end.
#pragma once

#include <unistd.h>

#include <utility>

namespace nnd::log {

class OwnedFd {
 public:
  explicit OwnedFd(int fd) : fd_(fd) {}
  ~OwnedFd() {
    if (fd_ >= 0) close(fd_);
  }
  OwnedFd(OwnedFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  OwnedFd& operator=(OwnedFd&&) = delete;

  int get() const { return fd_; }  // negative: there is none

 private:
  int fd_;
};

}  // namespace nnd::log
