// A TCP port of the loopback interface that nobody had a moment ago.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>

namespace nnd::test {

inline int free_port() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  const bool bound = bind(fd, generic, size) == 0 && getsockname(fd, generic, &size) == 0;
  close(fd);
  if (!bound) std::abort();
  return ntohs(address.sin_port);
}

}  // namespace nnd::test
