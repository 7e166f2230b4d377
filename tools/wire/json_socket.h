// JSON messages, one a line, over a connected stream socket: the one way in which processes of the
// tools talk to each other.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "wire/lines.h"

namespace nnd::wire {

// An object that is not nested deeper than any message of ours; else nothing.
std::optional<nlohmann::json> parse_message(std::string_view text);
// On one line, without its newline; what is no UTF-8 is replaced.
std::string text_of(const nlohmann::json& message);

// What stands around the text of messages on the wire. One for each connection's end.
class Envelope {
 public:
  virtual ~Envelope() = default;
  virtual std::string close(std::string_view text) = 0;  // without newline
  // Nothing: it is not the peer's next message.
  virtual std::optional<std::string> open(std::string_view line) = 0;
};

class JsonSocket {
 public:
  // No envelope: a process of this program's own at the other end.
  explicit JsonSocket(int fd) : JsonSocket(LineSocket(fd, kMessageLimit), nullptr) {}
  JsonSocket(LineSocket socket, std::unique_ptr<Envelope> envelope);

  // Waits while the peer takes nothing, ten seconds at most. False: it is gone.
  bool send(const nlohmann::json& message);
  // The next message that has arrived. What is no message of the peer's closes the connection.
  std::optional<nlohmann::json> receive();
  // Waits for it; nothing at the deadline, or when the connection is closed.
  std::optional<nlohmann::json> receive(Clock::time_point deadline);

  void wait(Clock::time_point deadline) const { socket_.wait(deadline); }
  bool closed() const { return socket_.closed(); }          // and all that came is received
  const std::string& why() const { return socket_.why(); }  // one clause, once closed

 private:
  LineSocket socket_;
  std::unique_ptr<Envelope> envelope_;
};

}  // namespace nnd::wire
