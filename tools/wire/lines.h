// Lines over a connected stream socket, which does not block and whose lines are bounded.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace nnd::wire {

using Clock = std::chrono::steady_clock;

inline constexpr std::size_t kMessageLimit = std::size_t{16} << 20;  // bytes of a line

// Cuts what arrives into lines.
class LineBuffer {
 public:
  explicit LineBuffer(std::size_t limit) : limit_(limit) {}

  // False: a line is longer than the limit, and nothing more comes out.
  bool add(std::string_view bytes);
  std::optional<std::string> take();
  void set_limit(std::size_t limit) { limit_ = limit; }
  bool empty() const { return bytes_.empty(); }

 private:
  std::size_t limit_;
  std::string bytes_;
  std::size_t searched_ = 0;  // no newline before it
  bool broken_ = false;
};

// Owns the socket; one thread at a time.
class LineSocket {
 public:
  // Takes the socket over.
  LineSocket(int fd, std::size_t limit);
  ~LineSocket();
  LineSocket(LineSocket&& other) noexcept;
  LineSocket& operator=(LineSocket&& other) noexcept;

  // `line` ends with a newline. Waits while the peer takes nothing, ten seconds at most. False: it
  // is gone.
  bool send(std::string_view line);
  // The next line that has arrived, without its newline.
  std::optional<std::string> receive();
  // Waits until something can be received, the peer is gone or the deadline is there.
  void wait(Clock::time_point deadline) const;

  // What has come is not what the peer should say: nothing more of it is received.
  void reject(const std::string& why);
  bool closed() const { return fd_ < 0; }          // and all that came is received
  const std::string& why() const { return why_; }  // one clause, once closed
  int fd() const { return fd_; }
  void set_limit(std::size_t limit) { lines_.set_limit(limit); }

 private:
  bool read();
  void close(const std::string& why);

  int fd_;
  LineBuffer lines_;
  std::string why_;
};

// A connected pair of stream sockets. Throws std::system_error.
std::pair<int, int> socket_pair();

}  // namespace nnd::wire
