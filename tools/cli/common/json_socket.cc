#include "cli/common/json_socket.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace nnd::cli {

using nlohmann::json;

JsonSocket::JsonSocket(int fd) : fd_(fd) {
  fcntl(fd_, F_SETFL, fcntl(fd_, F_GETFL) | O_NONBLOCK);
  fcntl(fd_, F_SETFD, FD_CLOEXEC);
}

JsonSocket::~JsonSocket() { close(); }

JsonSocket::JsonSocket(JsonSocket&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), pending_(std::move(other.pending_)) {}

JsonSocket& JsonSocket::operator=(JsonSocket&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(pending_, other.pending_);
  return *this;
}

void JsonSocket::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

bool JsonSocket::send(const json& value) {
  constexpr int kPatienceMs = 10000;
  const std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  for (std::size_t sent = 0; sent < text.size() && fd_ >= 0;) {
    const ssize_t some = ::send(fd_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (some > 0) {
      sent += static_cast<std::size_t>(some);
      continue;
    }
    pollfd ready{.fd = fd_, .events = POLLOUT, .revents = 0};
    if (some < 0 && errno == EINTR) continue;
    if (some < 0 && errno == EAGAIN && poll(&ready, 1, kPatienceMs) > 0) continue;
    close();
  }
  return fd_ >= 0;
}

std::optional<json> JsonSocket::receive() {
  std::array<char, 65536> buffer;
  auto end = pending_.find('\n');
  while (end == std::string::npos) {
    if (fd_ < 0) return std::nullopt;
    const ssize_t some = recv(fd_, buffer.data(), buffer.size(), 0);
    if (some < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
    if (some <= 0) {
      close();
      return std::nullopt;
    }
    end = std::string_view(buffer.data(), static_cast<std::size_t>(some)).find('\n');
    if (end != std::string::npos) end += pending_.size();
    pending_.append(buffer.data(), static_cast<std::size_t>(some));
  }
  auto value = json::parse(pending_.substr(0, end), nullptr, false);
  pending_.erase(0, end + 1);
  if (value.is_object()) return value;
  close();
  pending_.clear();
  return std::nullopt;
}

}  // namespace nnd::cli
