// The one UDP socket of a process. Nothing of it blocks but wait(). One thread, but for make().
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "peers/directory.h"

namespace nnd::peers {

class Socket {
 public:
  Socket() = default;
  ~Socket();
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  // At any port of this address. 0: as it should be; else errno.
  int open(const context::Gid& ip);
  void close() noexcept;
  bool is_open() const noexcept { return fd_.load(std::memory_order_acquire) >= 0; }
  const Address& address() const noexcept { return address_; }

  void send(const Address& to, std::span<const std::uint8_t> datagram) noexcept;

  struct Came {
    Address from;
    std::vector<std::uint8_t> datagram;
  };
  // Longer ones than `most` bytes are thrown away.
  std::optional<Came> receive(std::size_t most);
  // What was sent there found no port, says the kernel of that host itself: what a firewall in
  // between refuses is no such word.
  std::optional<Address> refused();

  // Until something can be read, at most for this long. False: nothing came.
  bool wait(std::uint64_t ns) noexcept;

 private:
  std::atomic<int> fd_{-1};  // set when all else is
  bool six_ = false;
  Address address_;
};

}  // namespace nnd::peers
