// The out-of-band exchange: JSON messages over a connected stream socket.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace nnd::driver {

using Clock = std::chrono::steady_clock;

// Owns the socket. One thread at a time.
class Channel {
 public:
  explicit Channel(int fd) : fd_(fd) {}
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // False: the other side is gone.
  bool send(const nlohmann::json& message);

  // The next message; nothing when the deadline came first or the other side is gone (see open()).
  std::optional<nlohmann::json> receive(Clock::time_point deadline);

  bool open() const { return open_; }

 private:
  std::optional<nlohmann::json> take_buffered();

  int fd_;
  bool open_ = true;
  std::string buffer_;  // received, not yet taken
};

}  // namespace nnd::driver
