#include "cli/ping/meet.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "cli/common/call_error.h"
#include "cli/common/exit_code.h"
#include "cli/ping/wire_io.h"

namespace nnd::cli {

using nlohmann::json;

namespace {

constexpr int kTickMs = 50;
constexpr auto kHandshakePatience = std::chrono::seconds(5);
constexpr std::size_t kMostStrangers = 32;

Addresses addresses_of(const TcpAddress& address, int flags) {
  std::string why;
  Addresses out = find_addresses(address, flags, why);
  if (!out)
    throw CallError(kWrongCall, "address", fmt::format("{}: {}", address.text(), why),
                    address.text());
  return out;
}

std::string text_of(const sockaddr_storage& address, socklen_t size) {
  std::array<char, NI_MAXHOST> host{};
  if (getnameinfo(reinterpret_cast<const sockaddr*>(&address), size, host.data(), host.size(),
                  nullptr, 0, NI_NUMERICHOST) != 0)
    return "an unknown address";
  return host.data();
}

// Connects within the tick, or not at all: a host that drops packets must not hold up Ctrl-C.
int connect_in_time(const addrinfo& address, std::string& why) {
  const int fd = socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) {
    why = std::strerror(errno);
    return -1;
  }
  int error = connect(fd, address.ai_addr, address.ai_addrlen) == 0 ? 0 : errno;
  if (error == EINPROGRESS) {
    constexpr int kPatienceMs = 1000;
    pollfd ready{.fd = fd, .events = POLLOUT, .revents = 0};
    socklen_t size = sizeof error;
    error = ETIMEDOUT;
    if (poll(&ready, 1, kPatienceMs) > 0) getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
  }
  if (error == 0) return fd;
  why = std::strerror(error);
  close(fd);
  return -1;
}

// Proves both ways. Empty and the reason: not this time.
std::optional<Wire> prove(int fd, const std::string& token, const json& about,
                          PingClock::time_point deadline, const std::function<bool()>& stop,
                          std::string& why, bool& refused) {
  prepare_socket(fd);
  auto handshake = Handshake::caller(token, about);
  LineBuffer lines(kHelloLimit);
  deadline = std::min(deadline, PingClock::now() + kHandshakePatience);
  why = "it does not answer as nccl-net-diag ping --listen does";
  bool open = send_all(fd, handshake.begin());
  while (open && !handshake.done() && !handshake.failed() && !stop() &&
         PingClock::now() < deadline) {
    pollfd ready{.fd = fd, .events = POLLIN, .revents = 0};
    poll(&ready, 1, kTickMs);
    open = read_into(fd, lines);
    while (!handshake.done() && !handshake.failed()) {
      const auto line = lines.take();
      if (!line) break;
      if (const auto answer = handshake.take(*line); !answer.empty())
        open = send_all(fd, answer) && open;
    }
  }
  if (handshake.done()) return Wire(fd, handshake.seal(), std::move(lines));
  close(fd);
  refused = handshake.failed();
  if (refused) why = handshake.why();
  return std::nullopt;
}

}  // namespace

TcpAddress parse_ping_address(const std::string& text) {
  if (auto address = parse_tcp_address(text, kPingPort)) return *address;
  throw CallError(kWrongCall, "address", fmt::format("\"{}\" is no HOST or HOST:PORT", text), text);
}

Wire call_listener(const TcpAddress& address, const std::string& token, const json& about,
                   PingClock::time_point deadline, const std::function<bool()>& stop) {
  std::string why = "no answer";
  const Addresses addresses = addresses_of(address, 0);
  for (;;) {
    for (const addrinfo* one = addresses.get(); one != nullptr; one = one->ai_next) {
      const int fd = connect_in_time(*one, why);
      if (fd < 0) continue;
      bool refused = false;
      if (auto wire = prove(fd, token, about, deadline, stop, why, refused))
        return std::move(*wire);
      if (refused)
        throw CallError(kNotExamined, "refused", fmt::format("{}: {}", address.text(), why),
                        address.text());
    }
    if (stop()) throw CallError(kNotExamined, "interrupted", "interrupted");
    if (PingClock::now() >= deadline)
      throw CallError(
          kNotExamined, "address",
          fmt::format("nobody was reached at {}: {}; there, run: nccl-net-diag ping --listen",
                      address.text(), why),
          address.text());
    poll(nullptr, 0, kTickMs);
  }
}

Doorway::Doorway(const TcpAddress& address, std::string token) : token_(std::move(token)) {
  std::string why;
  fd_ = listen_on(addresses_of(address, AI_PASSIVE), why);
  if (fd_ < 0)
    throw CallError(kNotExamined, "listen",
                    fmt::format("cannot listen on {}: {}", address.text(), why), address.text());
}

Doorway::~Doorway() {
  for (const auto& stranger : strangers_) close(stranger.fd);
  close(fd_);
}

std::string Doorway::port() const {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  std::array<char, NI_MAXSERV> port{};
  getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size);
  getnameinfo(reinterpret_cast<sockaddr*>(&address), size, nullptr, 0, port.data(), port.size(),
              NI_NUMERICSERV);
  return port.data();
}

void Doorway::let_in() {
  while (strangers_.size() < kMostStrangers) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    const int fd = accept4(fd_, reinterpret_cast<sockaddr*>(&address), &size, SOCK_CLOEXEC);
    if (fd < 0) return;
    prepare_socket(fd);
    strangers_.push_back({fd, text_of(address, size), Handshake::listener(token_),
                          LineBuffer(kHelloLimit), PingClock::now() + kHandshakePatience});
  }
}

std::optional<Doorway::Caller> Doorway::attend(
    const std::function<void(const std::string&)>& refused) {
  let_in();
  for (auto at = strangers_.begin(); at != strangers_.end();) {
    bool open = read_into(at->fd, at->lines);
    while (!at->handshake.done() && !at->handshake.failed()) {
      const auto line = at->lines.take();
      if (!line) break;
      if (const auto answer = at->handshake.take(*line); !answer.empty())
        open = send_all(at->fd, answer) && open;
    }
    const bool done = at->handshake.done();
    if (!done && open && !at->handshake.failed() && PingClock::now() < at->deadline) {
      ++at;
      continue;
    }
    Stranger one = std::move(*at);
    at = strangers_.erase(at);
    if (done)
      return Caller{Wire(one.fd, one.handshake.seal(), std::move(one.lines)), one.handshake.about(),
                    one.address};
    close(one.fd);
    refused(fmt::format("A connection from {} was refused: {}.", one.address,
                        one.handshake.failed() ? one.handshake.why()
                        : open                 ? "it said too little for too long"
                                               : "it left, or said too much"));
  }
  return std::nullopt;
}

}  // namespace nnd::cli
