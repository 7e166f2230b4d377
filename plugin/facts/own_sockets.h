// TCP connections of this process, by their descriptors: the kernel's table of the whole network
// namespace takes milliseconds to read, these some microseconds.
#pragma once

#include <optional>
#include <vector>

#include "facts/tcp.h"

namespace nnd::facts {

class OwnSockets {
 public:
  OwnSockets();  // those that are open now and have another end

  // Of the connection to that end, which is of this process where `here`: whether the other side's
  // process is there, now. None: no such connection was found, or it is gone.
  std::optional<bool> peer_there(const TcpEnd& listener, bool here) const;
  // To whom the socket was connected, which the kernel tells no more once it is reset.
  std::optional<TcpEnd> remote_of(int fd) const;

 private:
  struct Socket {
    int fd = -1;
    TcpEnd local, remote;
  };
  static std::optional<Socket> look_at(int fd);

  std::vector<Socket> sockets_;
};

// The process's own list. Thread-safe. Looks for them: on a thread of ours, when connections were
// made.
void find_own_sockets();
// OwnSockets::peer_there. One that isn't in the list is looked for, once a second at most: when a
// job dies, its QPs fail by the hundred.
std::optional<bool> peer_there(const TcpEnd& listener, bool here);
// OwnSockets::remote_of, of what was found before.
std::optional<TcpEnd> remote_of(int fd);

// How far a socket's connection is, by its descriptor.
struct TcpNow {
  bool trying = false;       // SYN sent, no answer
  unsigned retransmits = 0;  // SYNs after the first
  TcpEnd local;
};
std::optional<TcpNow> tcp_now(int fd);  // none: it isn't TCP, or is closed

}  // namespace nnd::facts
