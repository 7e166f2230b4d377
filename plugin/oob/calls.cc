#include "oob/calls.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <optional>

#include "context/clock.h"
#include "context/fork_mutex.h"
#include "context/quiet.h"
#include "facts/own_sockets.h"
#include "inner/find.h"
#include "inner/module.h"
#include "inner/slots.h"
#include "nccl_abi/releases.h"
#include "oob/events.h"
#include "oob/evidence.h"
#include "state/bootstrap.h"
#include "state/current.h"

namespace nnd::oob {

namespace {

using state::Boot;
using state::BootCall;
using state::BootRole;
using state::OwnBoot;
using state::SocketAddress;

// Inside a call of the net API it is a connection's socket, which the net layer tells of.
bool within_net_api() noexcept { return state::current().call != state::Call::kNone; }

SocketAddress read_address(const sockaddr* address, socklen_t size) noexcept {
  sockaddr_storage whole{};
  std::memcpy(&whole, address, std::min<std::size_t>(size, sizeof whole));
  SocketAddress out;
  context::read_socket_address(&whole, out.ip, out.port);
  return out;
}

SocketAddress name_of(int fd, int (*name)(int, sockaddr*, socklen_t*)) noexcept {
  sockaddr_storage whole{};
  socklen_t size = sizeof whole;
  if (name(fd, reinterpret_cast<sockaddr*>(&whole), &size) != 0) return {};
  return read_address(reinterpret_cast<const sockaddr*>(&whole), size);
}

bool blocks(int fd) noexcept {
  const int flags = ::fcntl(fd, F_GETFL);
  return flags != -1 && (flags & O_NONBLOCK) == 0;
}

void begin_call(OwnBoot& own, BootCall call, int fd) noexcept {
  own.boot.call = call;
  own.boot.fd = fd;
  own.boot.since_ns = context::mono_ns();
  own.boot.attempts = 0;
  own.boot.error = own.boot.refused = 0;
}

void end_call(OwnBoot& own) noexcept {
  own.boot.call = BootCall::kNone;
  own.boot.fd = -1;
  own.publish();
  if (own.boot.passing) state::end_own_boot();
}

// Around the real call: the watch sees that the thread is alive, or inside.
class Inside {
 public:
  explicit Inside(state::BootThread& entry) noexcept : entry_(entry) {
    entry_.last_ns.store(context::mono_ns(), std::memory_order_relaxed);
    entry_.inside.store(true, std::memory_order_relaxed);
  }
  ~Inside() {
    entry_.last_ns.store(context::mono_ns(), std::memory_order_relaxed);
    entry_.inside.store(false, std::memory_order_relaxed);
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  state::BootThread& entry_;
};

// What NCCL does not try again (socketConnectCheck, v2.28.9-1 src/misc/socket.cc; before 2.24
// socketStartConnect and socketPollConnect).
bool tries_again(int error) noexcept {
  if (error == ECONNREFUSED || error == ETIMEDOUT || error == EINPROGRESS) return true;
  if (!nccl_abi::kRetriesUnreachable.has(nccl_version())) return false;
  return error == EHOSTUNREACH || error == EINTR || error == EAGAIN;
}

bool limit_is_reached(int error) noexcept {
  return error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOBUFS;
}

// How an attempt ended; EINPROGRESS: it has not.
void connect_came_to(OwnBoot& own, int error) noexcept {
  Boot& boot = own.boot;
  if (error == EINPROGRESS) return own.publish();
  if (error == 0) {
    if (boot.role == BootRole::kRank && boot.connects == 0) {
      boot.root = boot.target;
      boot.from = name_of(boot.fd, ::getsockname);
    }
    ++boot.connects;
    return end_call(own);
  }
  if (boot.error != 0 && boot.error != error) boot.refused = boot.error;
  boot.error = error;
  own.publish();
  if (!tries_again(error)) {
    tell_fail(boot, "connect", error);
    end_call(own);
  }
}

// The net layer's connection ends with this where nothing else failed in the same call.
void note_for_connection(const char* call, int error) noexcept {
  state::CallContext& now = state::current();
  now.failed_verb = call;
  now.failed_errno = error;
}

void no_socket(const char* call, int error) noexcept {
  if (within_net_api()) return note_for_connection(call, error);
  OwnBoot* const own = state::own_boot();
  tell_fail(own == nullptr ? Boot{} : own->boot, call, error);
}

int socket_seen(int domain, int type, int protocol) {
  const int fd = ::socket(domain, type, protocol);
  if (fd < 0 && limit_is_reached(errno))
    context::quietly([error = errno] { no_socket("socket", error); });
  return fd;
}

int listen_seen(int fd, int backlog) {
  const int rc = ::listen(fd, backlog);
  if (rc != 0 || within_net_api()) return rc;
  context::quietly([fd] {
    const SocketAddress at = name_of(fd, ::getsockname);
    if (!at.known()) return;
    state::remember_listener(at.port);
    OwnBoot* own = state::own_boot();
    if (own == nullptr || own->boot.began_ns == 0) {
      state::begin_bootstrap(0);
      own = state::own_boot();
    }
    if (own == nullptr) return;
    if (own->boot.listens < own->boot.listeners.size()) own->boot.listeners[own->boot.listens] = at;
    ++own->boot.listens;
    own->publish();
  });
  return rc;
}

// The calling thread's last connect: the kernel tells a peer no more once a connection is reset.
thread_local struct {
  int fd = -1;
  SocketAddress target;
} t_connect;

SocketAddress peer_of(int fd) {
  if (const SocketAddress peer = name_of(fd, ::getpeername); peer.known()) return peer;
  if (t_connect.fd == fd) return t_connect.target;
  const auto known = facts::remote_of(fd);
  return known ? SocketAddress{known->address, known->port} : SocketAddress{};
}

// Of a connection that this process makes, or has made, to another one's listener; that its guests
// go is no failure. What NCCL reads there, or writes, it needs. error: 0 at the end of the stream.
void look_if_closed(int fd, int error) noexcept {
  if (error != 0 && error != ECONNRESET && error != EPIPE && error != ECONNABORTED &&
      error != ECONNREFUSED)
    return;
  context::quietly([&] {
    if (state::is_own_listener(name_of(fd, ::getsockname).port)) return;
    const SocketAddress peer = peer_of(fd);
    if (peer.known() && !state::is_own_listener(peer.port) && state::is_newly_closed(peer))
      tell_closed(peer, error);
  });
}

int connect_in_net_api(int fd, const sockaddr* address, socklen_t size) {
  const int rc = ::connect(fd, address, size);
  if (rc != 0 && errno != EINPROGRESS && errno != EINTR) note_for_connection("connect", errno);
  return rc;
}

int connect_seen(int fd, const sockaddr* address, socklen_t size) {
  if (within_net_api()) return connect_in_net_api(fd, address, size);
  const SocketAddress target = address == nullptr ? SocketAddress{} : read_address(address, size);
  t_connect = {fd, target};
  OwnBoot* const own = target.known() ? state::own_boot() : nullptr;
  if (own == nullptr) {
    const int rc = ::connect(fd, address, size);
    if (rc != 0) look_if_closed(fd, errno);
    return rc;
  }
  if (own->boot.call != BootCall::kConnect || own->boot.target != target) {
    begin_call(*own, BootCall::kConnect, fd);
    own->boot.target = target;
  }
  own->boot.fd = fd;
  ++own->boot.attempts;
  own->publish();
  int rc = 0;
  {
    const Inside inside(*own->entry);
    rc = ::connect(fd, address, size);
  }
  context::quietly([&, error = rc == 0 ? 0 : errno] { connect_came_to(*own, error); });
  return rc;
}

int getsockopt_seen(int fd, int level, int name, void* value, socklen_t* size) {
  const int rc = ::getsockopt(fd, level, name, value, size);
  if (rc != 0 || level != SOL_SOCKET || name != SO_ERROR || value == nullptr) return rc;
  int error = 0;
  std::memcpy(&error, value, sizeof error);
  if (within_net_api()) {
    if (error != 0 && error != EINPROGRESS) note_for_connection("connect", error);
    return rc;
  }
  OwnBoot* const own = state::own_boot();
  if (own != nullptr && own->boot.call == BootCall::kConnect && own->boot.fd == fd)
    context::quietly([&] { connect_came_to(*own, error); });
  else if (own == nullptr && error != 0)
    look_if_closed(fd, error);
  return rc;
}

void count_guest(OwnBoot& own, const SocketAddress& from) noexcept {
  ++own.boot.accepts;
  if (own.boot.role == BootRole::kRoot && from.known()) {
    auto& hosts = own.boot.guests;
    const auto free = std::find_if(hosts.begin(), hosts.end(), [&](const context::Gid& host) {
      return host == from.ip || context::gid_zero(host);
    });
    if (free != hosts.end()) *free = from.ip;
  }
  end_call(own);
}

void begin_accept(OwnBoot& own, int fd) noexcept {
  begin_call(own, BootCall::kAccept, fd);
  own.boot.own = name_of(fd, ::getsockname);
  own.publish();
}

// NCCL up to 2.27 makes connections at a first collective on threads of their own: one that waits
// there for another rank.
OwnBoot* begin_passing(int fd) noexcept {
  OwnBoot* const own = state::begin_own_boot(BootRole::kRank);
  if (own == nullptr) return nullptr;
  own->boot.passing = true;
  begin_accept(*own, fd);
  return own;
}

// A root's socket blocks, and in some releases a rank's (a communicator that can't be aborted
// there, as in v2.23.4-1): whose it is its address tells.
OwnBoot* own_or_blocking(int fd) noexcept {
  OwnBoot* const own = state::own_boot();
  if (own != nullptr || !blocks(fd)) return own;
  return state::is_of_a_rank(name_of(fd, ::getsockname)) ? begin_passing(fd)
                                                         : state::begin_own_boot(BootRole::kRoot);
}

int accept_unowned(int fd, sockaddr* address, socklen_t* size) {
  const int got = ::accept(fd, address, size);
  if (got >= 0) return got;
  if (limit_is_reached(errno))
    context::quietly([error = errno] { no_socket("accept", error); });
  else if ((errno == EAGAIN || errno == EWOULDBLOCK) && !within_net_api())
    context::quietly([fd] { begin_passing(fd); });
  return got;
}

int accept_seen(int fd, sockaddr* address, socklen_t* size) {
  OwnBoot* const own = within_net_api() ? nullptr : own_or_blocking(fd);
  if (own == nullptr) return accept_unowned(fd, address, size);
  if (own->boot.call != BootCall::kAccept || own->boot.fd != fd) begin_accept(*own, fd);
  int got = -1;
  {
    const Inside inside(*own->entry);
    got = ::accept(fd, address, size);
  }
  if (got >= 0)
    count_guest(*own, name_of(got, ::getpeername));
  else if (limit_is_reached(errno))
    context::quietly([&, error = errno] { tell_fail(own->boot, "accept", error); });
  return got;
}

ssize_t send_seen(int fd, const void* buffer, size_t size, int flags) {
  const ssize_t gone = ::send(fd, buffer, size, flags);
  if (gone < 0 && !within_net_api()) look_if_closed(fd, errno);
  return gone;
}

ssize_t recv_seen(int fd, void* buffer, size_t size, int flags) {
  if (within_net_api()) return ::recv(fd, buffer, size, flags);
  OwnBoot* const own = state::own_boot();
  ssize_t got = -1;
  {
    std::optional<Inside> inside;
    if (own != nullptr) inside.emplace(*own->entry);
    got = ::recv(fd, buffer, size, flags);
  }
  const context::ErrnoKeeper keep;
  if (got <= 0 && size != 0) look_if_closed(fd, got < 0 ? errno : 0);
  if (own == nullptr) return got;
  Boot& boot = own->boot;
  if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
    if (boot.call == BootCall::kReceive && boot.fd == fd) return got;
    begin_call(*own, BootCall::kReceive, fd);
    boot.target = name_of(fd, ::getpeername);
    own->publish();
  } else if (got > 0) {
    ++boot.receives;
    end_call(*own);
  } else if (got == 0 && boot.call == BootCall::kReceive) {
    end_call(*own);  // the peer has closed it, and NCCL says so
  }
  return got;
}

template <class F>
void* address_of(F* function) {
  return reinterpret_cast<void*>(function);
}

void* replacement(std::string_view symbol) {
  if (symbol == "socket") return address_of(socket_seen);
  if (symbol == "listen") return address_of(listen_seen);
  if (symbol == "connect") return address_of(connect_seen);
  if (symbol == "getsockopt") return address_of(getsockopt_seen);
  if (symbol == "accept") return address_of(accept_seen);
  if (symbol == "recv") return address_of(recv_seen);
  if (symbol == "send") return address_of(send_seen);
  return nullptr;
}

context::ForkMutex g_install_mutex;

}  // namespace

void install(const void* address) noexcept {
  context::quietly([&] {
    const std::lock_guard guard(g_install_mutex);
    const auto module = inner::module_of(address);
    if (!module) return;
    if (nccl_version() == 0) set_nccl_version(inner::nccl_version(*module));
    inner::redirect(*module,
                    [](const inner::Import& import) { return replacement(import.symbol); });
  });
}

}  // namespace nnd::oob
