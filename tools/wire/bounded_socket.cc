#include "wire/bounded_socket.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace nnd::wire {

int BoundedSocket::open(const addrinfo& to) {
  close();
  fd_ = ::socket(to.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd_ < 0) return errno;
  if (::connect(fd_, to.ai_addr, to.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  if (!wait(POLLOUT)) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof error;
  return ::getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

int BoundedSocket::send(std::string_view text) {
  while (!text.empty()) {
    if (!wait(POLLOUT)) return ETIMEDOUT;
    const auto sent = ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) return errno;
    text.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(sent, 0)));
  }
  return 0;
}

int BoundedSocket::receive(std::string& text, std::size_t most, bool& ended) {
  std::array<char, 1 << 16> part;
  if (!wait(POLLIN)) return ETIMEDOUT;
  const auto got = ::recv(fd_, part.data(), std::min(most, part.size()), 0);
  if (got < 0) return errno == EAGAIN || errno == EINTR ? 0 : errno;
  text.append(part.data(), static_cast<std::size_t>(got));
  ended = got == 0;
  return 0;
}

bool BoundedSocket::wait(short events) const {
  constexpr int kPauseMs = 50;
  pollfd one{fd_, events, 0};
  while (!stop_.load() && Clock::now() < until_)
    if (::poll(&one, 1, kPauseMs) > 0) return true;
  return false;
}

void BoundedSocket::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

}  // namespace nnd::wire
