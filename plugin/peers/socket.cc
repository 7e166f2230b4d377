#include "peers/socket.h"

#include <linux/errqueue.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace nnd::peers {

namespace {

union Name {
  sockaddr any;
  sockaddr_in four;
  sockaddr_in6 six;
};

socklen_t fill(Name& name, const Address& address, bool six) {
  name = {};
  if (six) {
    name.six.sin6_family = AF_INET6;
    name.six.sin6_port = htons(address.port);
    std::memcpy(&name.six.sin6_addr, address.ip.data(), address.ip.size());
    return sizeof name.six;
  }
  name.four.sin_family = AF_INET;
  name.four.sin_port = htons(address.port);
  std::memcpy(&name.four.sin_addr, address.ip.data() + 12, 4);
  return sizeof name.four;
}

Address read(const Name& name) {
  Address out;
  std::array<std::uint8_t, sizeof(sockaddr_in6)> bytes{};
  std::memcpy(bytes.data(), &name, std::min(sizeof name, bytes.size()));
  context::read_socket_address(bytes.data(), out.ip, out.port);
  return out;
}

}  // namespace

Socket::~Socket() { close(); }

void Socket::close() noexcept {
  if (const int fd = fd_.exchange(-1); fd >= 0) ::close(fd);
}

int Socket::open(const context::Gid& ip) {
  close();
  six_ = !context::gid_ipv4(ip);
  const int fd = ::socket(six_ ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno;
  const int on = 1;
  Name name;
  const socklen_t size = fill(name, {ip, 0}, six_);
  socklen_t got = sizeof name;
  if (::setsockopt(fd, six_ ? IPPROTO_IPV6 : IPPROTO_IP, six_ ? IPV6_RECVERR : IP_RECVERR, &on,
                   sizeof on) != 0 ||
      ::bind(fd, &name.any, size) != 0 || ::getsockname(fd, &name.any, &got) != 0) {
    const int error = errno;
    ::close(fd);
    return error;
  }
  address_ = read(name);
  fd_.store(fd, std::memory_order_release);
  return 0;
}

// What can't be sent is lost as what is lost on the way is: it is asked again.
void Socket::send(const Address& to, std::span<const std::uint8_t> datagram) noexcept {
  if (fd_ < 0 || (!six_ && !context::gid_ipv4(to.ip))) return;
  Name name;
  const socklen_t size = fill(name, to, six_);
  // An error of an earlier one comes back from this call, which then sends nothing.
  for (int tries = 0; tries < 2; ++tries)
    if (::sendto(fd_, datagram.data(), datagram.size(), MSG_NOSIGNAL, &name.any, size) >= 0) return;
}

std::optional<Socket::Came> Socket::receive(std::size_t most) {
  if (fd_ < 0) return std::nullopt;
  std::array<std::uint8_t, 2048> buffer;
  for (int tries = 0; tries < 64; ++tries) {
    Name name{};
    socklen_t size = sizeof name;
    const ssize_t got =
        ::recvfrom(fd_, buffer.data(), std::min(buffer.size(), most + 1), 0, &name.any, &size);
    if (got < 0 && errno == EAGAIN) return std::nullopt;
    // What came back of something sent: no reason to leave what has come.
    if (got < 0 || static_cast<std::size_t>(got) > most) continue;
    return Came{read(name), {buffer.begin(), buffer.begin() + got}};
  }
  return std::nullopt;
}

std::optional<Address> Socket::refused() {
  if (fd_ < 0) return std::nullopt;
  for (int tries = 0; tries < 64; ++tries) {
    Name name{};
    std::array<std::uint8_t, 64> data;
    alignas(cmsghdr) std::array<char, 512> control;
    iovec part{data.data(), data.size()};
    msghdr message{};
    message.msg_name = &name;
    message.msg_namelen = sizeof name;
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    if (::recvmsg(fd_, &message, MSG_ERRQUEUE) < 0) return std::nullopt;
    for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
      const bool four = c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_RECVERR;
      const bool six = c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_RECVERR;
      if (!four && !six) continue;
      sock_extended_err error;
      Name offender{};
      const std::size_t size = c->cmsg_len - CMSG_LEN(0);
      if (size < sizeof error) continue;
      std::memcpy(&error, CMSG_DATA(c), sizeof error);
      std::memcpy(&offender, CMSG_DATA(c) + sizeof error,
                  std::min(size - sizeof error, sizeof offender));
      const Address asked = read(name);
      if (error.ee_errno == ECONNREFUSED && error.ee_origin != SO_EE_ORIGIN_LOCAL &&
          read(offender).ip == asked.ip)
        return asked;
    }
  }
  return std::nullopt;
}

bool Socket::wait(std::uint64_t ns) noexcept {
  constexpr std::uint64_t kNsPerMs = 1'000'000;
  pollfd one{fd_, POLLIN, 0};
  const auto ms = static_cast<int>(std::min<std::uint64_t>((ns + kNsPerMs - 1) / kNsPerMs, 60'000));
  return ::poll(&one, 1, ms) > 0;  // a closed one (-1) is passed over
}

}  // namespace nnd::peers
