// One JSON value a line over a TCP connection, without blocking.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace nnd::cli {

class JsonSocket {
 public:
  explicit JsonSocket(int fd);  // takes it over
  ~JsonSocket();
  JsonSocket(JsonSocket&& other) noexcept;
  JsonSocket& operator=(JsonSocket&& other) noexcept;

  // Waits as long as the peer takes nothing, at most ten seconds. False when it is gone.
  bool send(const nlohmann::json& value);
  // The next value that has arrived; what is no JSON closes the connection.
  std::optional<nlohmann::json> receive();
  // The peer is gone, and everything that it sent has been received.
  bool closed() const { return fd_ < 0; }
  int fd() const { return fd_; }

 private:
  void close();

  int fd_;
  std::string pending_;
};

}  // namespace nnd::cli
