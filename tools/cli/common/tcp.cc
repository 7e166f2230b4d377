#include "cli/common/tcp.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>

namespace nnd::cli {

namespace {

bool is_port(const std::string& text) {
  return !text.empty() && text.size() <= 5 &&
         text.find_first_not_of("0123456789") == std::string::npos && std::stoi(text) <= 65535;
}

bool is_loopback(const sockaddr* address) {
  if (address->sa_family == AF_INET6)
    return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
  constexpr std::uint32_t kLoopbackNet = 127;
  const auto* four = reinterpret_cast<const sockaddr_in*>(address);
  return ntohl(four->sin_addr.s_addr) >> 24 == kLoopbackNet;
}

bool is_address(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  return inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
         inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

// Loopback is what the user means.
bool means_loopback(const std::string& host) { return is_address(host) || host == "localhost"; }

int listen_at_first(const Addresses& found, std::string& why) {
  for (const addrinfo* one = found.get(); one != nullptr; one = one->ai_next) {
    const int fd = socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const int on = 1, off = 0;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (one->ai_family == AF_INET6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (fd >= 0 && bind(fd, one->ai_addr, one->ai_addrlen) == 0 && listen(fd, SOMAXCONN) == 0)
      return fd;
    why = std::strerror(errno);
    if (fd >= 0) close(fd);
  }
  return -1;
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

Addresses find_addresses(const TcpAddress& address, std::string& why) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  if (const int error = getaddrinfo(address.host.c_str(), address.port.c_str(), &hints, &list))
    why = gai_strerror(error);
  return Addresses(list);
}

int listen_on(const TcpAddress& address, const Addresses& found, std::string& why) {
  if (found && is_loopback(found->ai_addr) && !means_loopback(address.host))
    return listen_on_all(address.port, why);
  return listen_at_first(found, why);
}

int listen_on_all(const std::string& port, std::string& why) {
  for (const char* all : {"::", "0.0.0.0"})  // the first stands for both, where there is IPv6
    if (const int fd = listen_at_first(find_addresses({all, port}, why), why); fd >= 0) return fd;
  return -1;
}

std::string port_of(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  std::array<char, NI_MAXSERV> port{};
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  getnameinfo(reinterpret_cast<sockaddr*>(&address), size, nullptr, 0, port.data(), port.size(),
              NI_NUMERICSERV);
  return port.data();
}

}  // namespace nnd::cli
