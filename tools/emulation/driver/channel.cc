#include "driver/channel.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>

namespace nnd::driver {

Channel::~Channel() { close(fd_); }

bool Channel::send(const nlohmann::json& message) {
  // One line a message: a dump has no newline in it.
  const auto text = message.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  for (std::size_t at = 0; at < text.size();) {
    const auto n = ::send(fd_, text.data() + at, text.size() - at, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return open_ = false;
    at += static_cast<std::size_t>(n);
  }
  return true;
}

std::optional<nlohmann::json> Channel::take_buffered() {
  const auto end = buffer_.find('\n');
  if (end == std::string::npos) return std::nullopt;
  auto message = nlohmann::json::parse(buffer_.begin(), buffer_.begin() + static_cast<long>(end));
  buffer_.erase(0, end + 1);
  return message;
}

std::optional<nlohmann::json> Channel::receive(Clock::time_point deadline) {
  for (;;) {
    if (auto message = take_buffered()) return message;
    if (!open_) return std::nullopt;
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd waiting{fd_, POLLIN, 0};
    const int timeout =
        static_cast<int>(std::clamp<decltype(left)>(left, 0, std::numeric_limits<int>::max()));
    const int ready = poll(&waiting, 1, timeout);
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) return std::nullopt;
    char chunk[65536];
    const auto n = recv(fd_, chunk, sizeof chunk, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0)
      open_ = false;
    else
      buffer_.append(chunk, static_cast<std::size_t>(n));
  }
}

}  // namespace nnd::driver
