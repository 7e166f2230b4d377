#include "cli/ping/wire.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "cli/common/call_error.h"
#include "cli/common/exit_code.h"
#include "cli/ping/wire_io.h"

namespace nnd::cli {

using nlohmann::json;

namespace {
constexpr const char* kGone = "it is gone";
}  // namespace

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

bool send_all(int fd, std::string_view text) {
  constexpr int kPatienceMs = 10000;
  while (!text.empty()) {
    const ssize_t some = ::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
    if (some > 0) {
      text.remove_prefix(static_cast<std::size_t>(some));
      continue;
    }
    pollfd ready{.fd = fd, .events = POLLOUT, .revents = 0};
    if (some < 0 && errno == EINTR) continue;
    if (some < 0 && errno == EAGAIN && poll(&ready, 1, kPatienceMs) > 0) continue;
    return false;
  }
  return true;
}

// What has arrived is added. False: the peer is gone, or a line is too long.
bool read_into(int fd, LineBuffer& lines) {
  std::array<char, 65536> buffer;
  // Not for ever, however fast the peer is.
  for (int reads = 0; reads < 64; ++reads) {
    const ssize_t some = recv(fd, buffer.data(), buffer.size(), 0);
    if (some < 0 && errno == EINTR) continue;
    if (some < 0 && errno == EAGAIN) return true;
    if (some <= 0 || !lines.add({buffer.data(), static_cast<std::size_t>(some)})) return false;
  }
  return true;
}

Wire::Wire(int fd, std::optional<Seal> seal, LineBuffer lines)
    : fd_(fd), seal_(std::move(seal)), lines_(std::move(lines)) {
  lines_.set_limit(kMessageLimit);
  prepare_socket(fd_);
}

Wire::~Wire() {
  if (fd_ >= 0) ::close(fd_);
}

Wire::Wire(Wire&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      seal_(std::move(other.seal_)),
      lines_(std::move(other.lines_)),
      why_(std::move(other.why_)) {}

Wire& Wire::operator=(Wire&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(seal_, other.seal_);
  std::swap(lines_, other.lines_);
  std::swap(why_, other.why_);
  return *this;
}

void Wire::close(const std::string& why) {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
  why_ = why;
}

bool Wire::send(const json& message) {
  if (fd_ < 0) return false;
  const auto text = seal_ ? seal_->close(message)
                          : message.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  if (!send_all(fd_, text)) close(kGone);
  return fd_ >= 0;
}

std::optional<json> Wire::next() {
  const auto line = lines_.take();
  if (!line) return std::nullopt;
  auto message = seal_ ? seal_->open(*line) : std::optional(json::parse(*line, nullptr, false));
  if (message && message->is_object()) return message;
  close("what came was not its next message");
  lines_ = LineBuffer(0);
  return std::nullopt;
}

std::optional<json> Wire::receive() {
  if (auto message = next()) return message;
  if (fd_ < 0) return std::nullopt;
  const bool open = read_into(fd_, lines_);
  auto message = next();
  if (!open && fd_ >= 0 && !message) close(kGone);
  return message;
}

std::pair<int, int> socket_pair() {
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
    throw CallError(kNotExamined, "failed", std::string("socketpair: ") + std::strerror(errno));
  return {sockets[0], sockets[1]};
}

}  // namespace nnd::cli
