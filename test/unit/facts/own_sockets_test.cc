// This process's own TCP connections, over loopback.
#include "facts/own_sockets.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <thread>
#include <utility>

#include "support/catch.h"
#include "support/skip.h"
#include "tree.h"

using namespace nnd::facts;
using namespace nnd::facts::test;

namespace {

class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) { REQUIRE(fd >= 0); }
  Socket(const Socket&) = delete;
  ~Socket() { close(); }
  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

// A listener on loopback, one that came, and its accepted end.
struct Pair {
  explicit Pair(int family)
      : listener(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)),
        dialled(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)),
        accepted(meet(family)) {}

  Socket listener, dialled;
  TcpEnd at;
  Socket accepted;

 private:
  int meet(int family) {
    sockaddr_storage address{};
    socklen_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    address.ss_family = static_cast<sa_family_t>(family);
    auto& ip4 = reinterpret_cast<sockaddr_in&>(address);
    auto& ip6 = reinterpret_cast<sockaddr_in6&>(address);
    if (family == AF_INET)
      ip4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    else
      ip6.sin6_addr = in6addr_loopback;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    REQUIRE(::bind(listener.get(), any, size) == 0);
    REQUIRE(::listen(listener.get(), 1) == 0);
    REQUIRE(::getsockname(listener.get(), any, &size) == 0);
    REQUIRE(::connect(dialled.get(), any, size) == 0);
    at = family == AF_INET ? TcpEnd{gid("127.0.0.1"), ntohs(ip4.sin_port)}
                           : TcpEnd{gid("::1"), ntohs(ip6.sin6_port)};
    return ::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC);
  }
};

// The other end's closing takes its time through the kernel.
template <class F>
bool soon(F&& holds) {
  for (int i = 0; i < 5000 && !holds(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return holds();
}

}  // namespace

TEST_CASE("whether the other end of an own connection is there, is asked when it is wanted") {
  Pair pair(AF_INET);
  const OwnSockets own;
  CHECK(own.peer_there(pair.at, false) == true);
  CHECK(own.peer_there(pair.at, true) == true);
  pair.accepted.close();
  CHECK(soon([&] { return own.peer_there(pair.at, false) == false; }));
  CHECK_FALSE(own.peer_there(pair.at, true));  // that end is closed
}

TEST_CASE("the same the other way round") {
  Pair pair(AF_INET);
  const OwnSockets own;
  pair.dialled.close();
  CHECK(soon([&] { return own.peer_there(pair.at, true) == false; }));
  CHECK_FALSE(own.peer_there(pair.at, false));
}

TEST_CASE("a descriptor that is another connection's by now says nothing of the first") {
  Pair pair(AF_INET);
  const OwnSockets own;
  const int number = pair.dialled.get();
  Pair other(AF_INET);
  REQUIRE(::dup2(other.dialled.get(), number) == number);
  CHECK_FALSE(own.peer_there(pair.at, false));
}

TEST_CASE("no connection to that end, nothing to say") {
  Pair pair(AF_INET);
  const OwnSockets own;
  TcpEnd elsewhere = pair.at;
  elsewhere.address = gid("127.0.0.2");
  CHECK_FALSE(own.peer_there(elsewhere, false));
  CHECK_FALSE(own.peer_there({}, false));
}

TEST_CASE("the process's list is made anew for a connection that came since") {
  find_own_sockets();
  Pair pair(AF_INET);
  // Once a second at most.
  CHECK(soon([&] { return peer_there(pair.at, false) == true; }));
  pair.accepted.close();
  CHECK(soon([&] { return peer_there(pair.at, false) == false; }));
}

TEST_CASE("own connections over IPv6") {
  sockaddr_in6 loopback{};
  loopback.sin6_family = AF_INET6;
  loopback.sin6_addr = in6addr_loopback;
  const int fd = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool there =
      fd >= 0 && ::bind(fd, reinterpret_cast<sockaddr*>(&loopback), sizeof loopback) == 0;
  if (fd >= 0) ::close(fd);
  if (!there) NND_SKIP("no IPv6 loopback here");
  Pair pair(AF_INET6);
  CHECK(OwnSockets().peer_there(pair.at, false) == true);
}
