// Who has a socket and knows what goes over the wire: a stranger, or a rank that is hostile or mad.
#pragma once

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <vector>

#include "peers/message.h"
#include "peers/seal.h"
#include "process.h"

namespace nnd::test {

class Attacker {
 public:
  using Bytes = std::vector<std::uint8_t>;

  Attacker() : fd_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in name = at(0);
    socklen_t size = sizeof name;
    if (::bind(fd_, reinterpret_cast<const sockaddr*>(&name), sizeof name) != 0 ||
        ::getsockname(fd_, reinterpret_cast<sockaddr*>(&name), &size) != 0)
      throw std::runtime_error("bind");
    port_ = ntohs(name.sin_port);
  }
  ~Attacker() { ::close(fd_); }
  Attacker(const Attacker&) = delete;
  Attacker& operator=(const Attacker&) = delete;

  std::uint16_t port() const { return port_; }
  void send(std::uint16_t port, const Bytes& datagram) const {
    const sockaddr_in name = at(port);
    ::sendto(fd_, datagram.data(), datagram.size(), MSG_DONTWAIT,
             reinterpret_cast<const sockaddr*>(&name), sizeof name);
  }
  void send(const Door& to, const Bytes& datagram) const { send(to.door.port, datagram); }

  struct Came {
    std::uint16_t from = 0;
    Bytes datagram;
  };
  std::optional<Came> receive(int wait_ms = 0) const {
    pollfd one{fd_, POLLIN, 0};
    if (::poll(&one, 1, wait_ms) <= 0) return std::nullopt;
    std::array<std::uint8_t, 2048> buffer;
    sockaddr_in name{};
    socklen_t size = sizeof name;
    const ssize_t got = ::recvfrom(fd_, buffer.data(), buffer.size(), MSG_DONTWAIT,
                                   reinterpret_cast<sockaddr*>(&name), &size);
    if (got < 0) return std::nullopt;
    return Came{ntohs(name.sin_port), {buffer.begin(), buffer.begin() + got}};
  }
  std::vector<Came> receive_all() const {
    std::vector<Came> out;
    while (auto came = receive()) out.push_back(std::move(*came));
    return out;
  }

  // With the handle of `to`, in the name of `from`.
  static Bytes hello(const Door& to, std::uint64_t from, const peers::Key& key,
                     std::vector<std::uint32_t> links, std::uint64_t number = 1) {
    peers::Message message;
    message.type = peers::Type::kHello;
    message.number = number;
    message.hello.key = key;
    message.hello.who.proc = from;
    message.hello.links = std::move(links);
    return peers::seal({peers::KeyKind::kHandle, from},
                       peers::key_of_handle(to.door.secret, to.proc), peers::encode(message));
  }

 private:
  static sockaddr_in at(std::uint16_t port) {
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_port = htons(port);
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return name;
  }

  int fd_;
  std::uint16_t port_ = 0;
};

// The same datagram as if another had sent it.
inline Attacker::Bytes in_name_of(std::uint64_t proc, Attacker::Bytes datagram) {
  for (std::size_t i = 0; i < 8; ++i)
    datagram.at(8 + i) = static_cast<std::uint8_t>(proc >> (8 * i));
  return datagram;
}

// On the way between two: `first` was told that the door of `second` is here.
class Relay {
 public:
  Relay(Process& first, Process& second, std::uint32_t listen) : first_(first), second_(second) {
    Door door = second.door();
    door.door.port = on_way_.port();
    first.connects(door, listen);
  }
  // Hands on what has come, and keeps what the first has sent.
  void hand_on() {
    for (auto& came : on_way_.receive_all()) {
      const bool of_first = came.from == first_.door().door.port;
      on_way_.send((of_first ? second_ : first_).door(), came.datagram);
      if (of_first) kept_.push_back(std::move(came.datagram));
    }
  }
  // Both serve, with it in between, until it is so.
  template <class F>
  bool until(F&& is_so) {
    for (int tries = 0; tries < 200; ++tries) {
      first_.begin_serving(50);
      second_.begin_serving(50);
      for (int i = 0; i < 5; ++i) {
        ::usleep(10'000);
        hand_on();
      }
      const Word first = first_.word(), second = second_.word();
      hand_on();
      if (is_so(first, second)) return true;
    }
    return false;
  }
  const Attacker& socket() const { return on_way_; }
  const std::vector<Attacker::Bytes>& kept() const { return kept_; }

 private:
  Process &first_, &second_;
  Attacker on_way_;
  std::vector<Attacker::Bytes> kept_;
};

}  // namespace nnd::test
