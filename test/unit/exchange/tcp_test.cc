// Where a socket listens for those who know its host by a name.
#include "cli/common/tcp.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include "support/catch.h"

using namespace nnd::cli;

namespace {

class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() {
    if (fd_ >= 0) close(fd_);
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

std::uint16_t port_of(const Fd& listening) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  REQUIRE(getsockname(listening.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
  return address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&address)->sin6_port
                                       : reinterpret_cast<sockaddr_in*>(&address)->sin_port;
}

bool reached_at(const char* address, const Fd& listening) {
  const Fd caller(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = port_of(listening);
  inet_pton(AF_INET, address, &to.sin_addr);
  return connect(caller.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
}

// Listens as a host does that is called `name` and whose own /etc/hosts has `address` for it.
int listen_as(const std::string& name, const std::string& address) {
  std::string why;
  return listen_on({name, "0"}, find_addresses({address, "0"}, why), why);
}

}  // namespace

TEST_CASE("where a host's name is a loopback address to itself, others reach it too", "[tcp]") {
  const Fd listening(listen_as("node0", "127.0.1.1"));  // Debian's /etc/hosts
  REQUIRE(listening.get() >= 0);
  CHECK(reached_at("127.0.1.1", listening));  // from the host itself
  CHECK(reached_at("127.0.0.7", listening));  // as from another host: at another address
}

TEST_CASE("who names an address is listened for there alone", "[tcp]") {
  for (const auto& [name, address] :
       {std::array{"127.0.1.1", "127.0.1.1"}, std::array{"localhost", "127.0.1.1"}}) {
    const Fd listening(listen_as(name, address));
    REQUIRE(listening.get() >= 0);
    CHECK(reached_at("127.0.1.1", listening));
    CHECK_FALSE(reached_at("127.0.0.7", listening));
  }
}

TEST_CASE("a name of another host's is no place to listen at", "[tcp]") {
  std::string why;
  CHECK(listen_on({"node1", "0"}, find_addresses({"192.0.2.1", "0"}, why), why) < 0);
  CHECK_FALSE(why.empty());
}
