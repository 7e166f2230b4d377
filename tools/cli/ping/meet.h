// How the two sides of a ping find each other.
#pragma once

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/ping/wire.h"
#include "cli/common/tcp.h"

namespace nnd::cli {

using PingClock = std::chrono::steady_clock;

inline constexpr const char* kPingPort = "18515";  // where --listen listens and HOST is called

// "host", "host:port", "[::1]", "[::1]:port". Throws CallError.
TcpAddress parse_ping_address(const std::string& text);

// Tries until the listener is there and both have proven that they know the token. Throws CallError
// at the deadline, when `stop` is true, and at once when the listener refuses.
Wire call_listener(const TcpAddress& address, const std::string& token, const nlohmann::json& about,
                   PingClock::time_point deadline, const std::function<bool()>& stop);

// Where callers come in.
class Doorway {
 public:
  // Listens on this host's address of that name, or on all where it is empty. port "0": any.
  // Throws CallError.
  Doorway(const TcpAddress& address, std::string token);
  ~Doorway();
  Doorway(const Doorway&) = delete;
  Doorway& operator=(const Doorway&) = delete;

  std::string port() const;

  struct Caller {
    Wire wire;
    nlohmann::json about;
    std::string address;
  };
  // Lets callers in, those that know the token. To be called several times a second. `refused` is
  // told of each other, in one sentence.
  std::optional<Caller> attend(const std::function<void(const std::string&)>& refused);

 private:
  struct Stranger {
    int fd;
    std::string address;
    Handshake handshake;
    LineBuffer lines{kHelloLimit};
    PingClock::time_point deadline;
  };
  void let_in();

  int fd_ = -1;
  std::string token_;
  std::vector<Stranger> strangers_;
};

}  // namespace nnd::cli
