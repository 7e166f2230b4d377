#include "facts/own_sockets.h"

#include <dirent.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cstdlib>
#include <memory>
#include <mutex>
#include <utility>

#include "context/clock.h"
#include "context/fork_mutex.h"
#include "context/gid.h"
#include "context/immortal.h"

namespace nnd::facts {

namespace {

using Name = int (*)(int, sockaddr*, socklen_t*);

std::optional<TcpEnd> end_of(int fd, Name name) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (name(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return std::nullopt;
  TcpEnd out;
  return context::read_socket_address(&address, out.address, out.port) ? std::optional(out)
                                                                       : std::nullopt;
}

// A number of TCP's states; none: it isn't TCP.
std::optional<int> state_of(int fd) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return std::nullopt;
  return info.tcpi_state;
}

}  // namespace

std::optional<OwnSockets::Socket> OwnSockets::look_at(int fd) {
  const auto remote = end_of(fd, ::getpeername);
  if (!remote) return std::nullopt;
  const auto local = end_of(fd, ::getsockname);
  if (!local) return std::nullopt;
  return Socket{fd, *local, *remote};
}

OwnSockets::OwnSockets() {
  const std::unique_ptr<DIR, int (*)(DIR*)> fds(::opendir("/proc/self/fd"), ::closedir);
  if (fds == nullptr) return;
  while (const dirent* const entry = ::readdir(fds.get()))
    if (entry->d_name[0] != '.')
      if (const auto socket = look_at(std::atoi(entry->d_name))) sockets_.push_back(*socket);
}

std::optional<bool> OwnSockets::peer_there(const TcpEnd& listener, bool here) const {
  std::optional<bool> there;
  for (const Socket& known : sockets_) {
    if ((here ? known.local : known.remote) != listener) continue;
    // The number may be another file's by now.
    const auto now = look_at(known.fd);
    if (!now || now->local != known.local || now->remote != known.remote) continue;
    const auto state = state_of(known.fd);
    if (state == TCP_CLOSE_WAIT) return false;
    if (state == TCP_ESTABLISHED) there = true;
  }
  return there;
}

std::optional<TcpEnd> OwnSockets::remote_of(int fd) const {
  const auto local = end_of(fd, ::getsockname);
  for (const Socket& known : sockets_)
    if (known.fd == fd && known.local == local) return known.remote;
  return std::nullopt;
}

namespace {

struct Known {
  context::ForkMutex mutex;
  std::shared_ptr<const OwnSockets> sockets;
  std::uint64_t found_ns = 0;  // CLOCK_MONOTONIC
};

Known& known() {
  static context::Immortal<Known> instance;
  return *instance;
}

std::shared_ptr<const OwnSockets> known_sockets(std::uint64_t& found_ns) {
  const std::lock_guard guard(known().mutex);
  found_ns = known().found_ns;
  return known().sockets;
}

}  // namespace

void find_own_sockets() {
  auto found = std::make_shared<const OwnSockets>();
  const std::lock_guard guard(known().mutex);
  known().sockets = std::move(found);
  known().found_ns = context::mono_ns();
}

std::optional<bool> peer_there(const TcpEnd& listener, bool here) {
  std::uint64_t found_ns = 0;
  auto sockets = known_sockets(found_ns);
  if (sockets != nullptr)
    if (const auto there = sockets->peer_there(listener, here)) return there;
  if (sockets != nullptr && context::mono_ns() - found_ns < context::kSecond) return std::nullopt;
  find_own_sockets();
  return known_sockets(found_ns)->peer_there(listener, here);
}

std::optional<TcpEnd> remote_of(int fd) {
  std::uint64_t found_ns = 0;
  const auto sockets = known_sockets(found_ns);
  return sockets == nullptr ? std::nullopt : sockets->remote_of(fd);
}

std::optional<TcpNow> tcp_now(int fd) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return std::nullopt;
  TcpNow out;
  out.trying = info.tcpi_state == TCP_SYN_SENT;
  out.retransmits = info.tcpi_retransmits;
  if (const auto local = end_of(fd, ::getsockname)) out.local = *local;
  return out;
}

}  // namespace nnd::facts
