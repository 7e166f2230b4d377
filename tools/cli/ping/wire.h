// The connections of a ping: between its two sides (sealed, see ping_seal.h), and to a process of
// its own on this host.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "cli/ping/seal.h"

namespace nnd::cli {

// Messages to and from one peer. Owns the socket; one thread at a time.
class Wire {
 public:
  // No seal: a process of this program's own. lines: what has come already.
  Wire(int fd, std::optional<Seal> seal, LineBuffer lines = LineBuffer(kMessageLimit));
  ~Wire();
  Wire(Wire&& other) noexcept;
  Wire& operator=(Wire&& other) noexcept;

  // Waits while the peer takes nothing, ten seconds at most. False: it is gone.
  bool send(const nlohmann::json& message);
  // The next message that has arrived. What is no message of the peer's closes the connection.
  std::optional<nlohmann::json> receive();
  bool closed() const { return fd_ < 0; }          // and all that came is received
  const std::string& why() const { return why_; }  // one clause, once closed
  int fd() const { return fd_; }

 private:
  void close(const std::string& why);
  std::optional<nlohmann::json> next();

  int fd_;
  std::optional<Seal> seal_;
  LineBuffer lines_;
  std::string why_;
};

// A connected pair of stream sockets. Throws CallError.
std::pair<int, int> socket_pair();

}  // namespace nnd::cli
