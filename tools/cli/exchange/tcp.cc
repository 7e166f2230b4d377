#include "cli/exchange/tcp.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace nnd::cli {

namespace {

bool is_port(const std::string& text) {
  return !text.empty() && text.size() <= 5 &&
         text.find_first_not_of("0123456789") == std::string::npos && std::stoi(text) <= 65535;
}

}  // namespace

std::string TcpAddress::text() const {
  return host.find(':') == std::string::npos ? host + ":" + port : "[" + host + "]:" + port;
}

std::optional<TcpAddress> parse_tcp_address(const std::string& text,
                                            const std::string& usual_port) {
  TcpAddress out{text, usual_port};
  const auto bracket = text.starts_with('[') ? text.find(']') : std::string::npos;
  const auto colon = text.rfind(':');
  if (bracket != std::string::npos) {
    out.host = text.substr(1, bracket - 1);
    if (bracket + 1 < text.size())
      out.port = text[bracket + 1] == ':' ? text.substr(bracket + 2) : "";
  } else if (colon != std::string::npos && (usual_port.empty() || text.find(':') == colon)) {
    out = {text.substr(0, colon), text.substr(colon + 1)};
  }
  if (out.host.empty() || !is_port(out.port)) return std::nullopt;
  return out;
}

Addresses find_addresses(const TcpAddress& address, int flags, std::string& why) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* list = nullptr;
  const char* const host = address.host.empty() ? nullptr : address.host.c_str();
  if (const int error = getaddrinfo(host, address.port.c_str(), &hints, &list))
    why = gai_strerror(error);
  return Addresses(list);
}

int listen_on(const Addresses& addresses, std::string& why) {
  for (const addrinfo* one = addresses.get(); one != nullptr; one = one->ai_next) {
    const int fd = socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (fd >= 0 && bind(fd, one->ai_addr, one->ai_addrlen) == 0 && listen(fd, SOMAXCONN) == 0)
      return fd;
    why = std::strerror(errno);
    if (fd >= 0) close(fd);
  }
  return -1;
}

}  // namespace nnd::cli
