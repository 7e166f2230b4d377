// A TCP port of the loopback address that a test listens at.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <vector>

namespace nnd::test {

class ListeningPort {
 public:
  explicit ListeningPort(int backlog) {
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    bind(fd_, reinterpret_cast<sockaddr*>(&any), sizeof any);
    listen(fd_, backlog);
    socklen_t size = sizeof address_;
    getsockname(fd_, reinterpret_cast<sockaddr*>(&address_), &size);
  }
  ~ListeningPort() {
    for (const int one : callers_) close(one);
    close(fd_);
  }
  ListeningPort(const ListeningPort&) = delete;
  ListeningPort& operator=(const ListeningPort&) = delete;

  std::string port() const { return std::to_string(ntohs(address_.sin_port)); }
  // The kernel drops what comes after these, as a firewall would.
  void fill() {
    for (int i = 0; i < 4; ++i) {
      callers_.push_back(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
      connect(callers_.back(), reinterpret_cast<sockaddr*>(&address_), sizeof address_);
    }
  }

 private:
  int fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address_{};
  std::vector<int> callers_;
};

}  // namespace nnd::test
