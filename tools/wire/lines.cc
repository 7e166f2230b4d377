#include "wire/lines.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <system_error>

namespace nnd::wire {

namespace {

constexpr const char* kGone = "it is gone";

// A peer whose machine lost its power sends nothing, not even an end.
void prepare_socket(int fd) {
  const int on = 1, idle = 5, interval = 5, count = 3, unacknowledged_ms = 20000;
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
  fcntl(fd, F_SETFD, FD_CLOEXEC);
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
  setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unacknowledged_ms, sizeof unacknowledged_ms);
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace

bool LineBuffer::add(std::string_view bytes) {
  constexpr std::size_t kChunk = 65536;  // that may come in one piece with the line's end
  if (broken_) return false;
  bytes_ += bytes;
  const auto last = bytes_.rfind('\n');
  const auto open = last == std::string::npos ? bytes_.size() : bytes_.size() - last - 1;
  broken_ = open > limit_ || bytes_.size() > limit_ + kChunk;
  if (broken_) bytes_.clear();
  return !broken_;
}

std::optional<std::string> LineBuffer::take() {
  const auto end = bytes_.find('\n', searched_);
  if (end == std::string::npos) {
    searched_ = bytes_.size();
    return std::nullopt;
  }
  searched_ = 0;
  broken_ = broken_ || end > limit_;
  if (broken_) return std::nullopt;
  auto out = bytes_.substr(0, end);
  bytes_.erase(0, end + 1);
  return out;
}

LineSocket::LineSocket(int fd, std::size_t limit) : fd_(fd), lines_(limit) { prepare_socket(fd_); }

LineSocket::~LineSocket() {
  if (fd_ >= 0) ::close(fd_);
}

LineSocket::LineSocket(LineSocket&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      lines_(std::move(other.lines_)),
      why_(std::move(other.why_)) {}

LineSocket& LineSocket::operator=(LineSocket&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(lines_, other.lines_);
  std::swap(why_, other.why_);
  return *this;
}

void LineSocket::close(const std::string& why) {
  if (fd_ < 0) return;
  ::close(fd_);
  fd_ = -1;
  why_ = why;
}

void LineSocket::reject(const std::string& why) {
  close(why);
  lines_ = LineBuffer(0);
}

bool LineSocket::send(std::string_view line) {
  constexpr int kPatienceMs = 10000;
  while (fd_ >= 0 && !line.empty()) {
    const ssize_t some = ::send(fd_, line.data(), line.size(), MSG_NOSIGNAL);
    if (some > 0) {
      line.remove_prefix(static_cast<std::size_t>(some));
      continue;
    }
    pollfd ready{.fd = fd_, .events = POLLOUT, .revents = 0};
    if (some < 0 && errno == EINTR) continue;
    if (some < 0 && errno == EAGAIN && poll(&ready, 1, kPatienceMs) > 0) continue;
    close(kGone);
  }
  return fd_ >= 0;
}

// What has arrived. False: the peer is gone, or a line is too long.
bool LineSocket::read() {
  std::array<char, 65536> buffer;
  // Not for ever, however fast the peer is.
  for (int reads = 0; reads < 64; ++reads) {
    const ssize_t some = recv(fd_, buffer.data(), buffer.size(), 0);
    if (some < 0 && errno == EINTR) continue;
    if (some < 0 && errno == EAGAIN) return true;
    if (some <= 0) return false;
    if (!lines_.add({buffer.data(), static_cast<std::size_t>(some)})) {
      close("it said too much");
      return false;
    }
  }
  return true;
}

std::optional<std::string> LineSocket::receive() {
  if (auto line = lines_.take()) return line;
  if (fd_ < 0) return std::nullopt;
  const bool open = read();
  auto line = lines_.take();
  if (!open && !line) close(kGone);
  return line;
}

void LineSocket::wait(Clock::time_point deadline) const {
  if (fd_ < 0) return;
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
  pollfd ready{.fd = fd_, .events = POLLIN, .revents = 0};
  poll(&ready, 1,
       static_cast<int>(std::clamp<decltype(left)>(left + 1, 0, std::numeric_limits<int>::max())));
}

std::pair<int, int> socket_pair() {
  std::array<int, 2> sockets{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) != 0)
    throw std::system_error(errno, std::generic_category(), "socketpair");
  return {sockets[0], sockets[1]};
}

}  // namespace nnd::wire
