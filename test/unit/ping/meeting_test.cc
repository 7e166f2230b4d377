#include "cli/ping/meeting.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "support/catch.h"
#include "support/free_port.h"

using namespace nnd::cli;

namespace {

// One that listens and is full: the kernel drops what comes, as a firewall would.
class FullPort {
 public:
  FullPort() {
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    bind(fd_, reinterpret_cast<sockaddr*>(&any), sizeof any);
    listen(fd_, 0);
    socklen_t size = sizeof address_;
    getsockname(fd_, reinterpret_cast<sockaddr*>(&address_), &size);
    for (int i = 0; i < 4; ++i) {
      callers_.push_back(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
      connect(callers_.back(), reinterpret_cast<sockaddr*>(&address_), sizeof address_);
    }
  }
  ~FullPort() {
    for (const int one : callers_) close(one);
    close(fd_);
  }
  FullPort(const FullPort&) = delete;
  FullPort& operator=(const FullPort&) = delete;

  std::string port() const { return std::to_string(ntohs(address_.sin_port)); }

 private:
  int fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address_{};
  std::vector<int> callers_;
};

}  // namespace

TEST_CASE("who listens, refuses and is silent are told apart, all at once") {
  MeetingListener listener;
  const auto port = listener.listen_at("127.0.0.1");
  REQUIRE_FALSE(port.empty());
  const FullPort full;
  const auto nobody = std::to_string(nnd::test::free_port());
  CHECK(reach({{"127.0.0.1", port},
               {"127.0.0.1", nobody},
               {"127.0.0.1", full.port()},
               {"127.0.0.1", port},
               {"no address", port}}) == std::vector{0, ECONNREFUSED, ETIMEDOUT, 0, EINVAL});
  CHECK(reach({}).empty());
}

TEST_CASE("what is no address of this host is not listened at") {
  MeetingListener listener;
  CHECK(listener.listen_at("192.0.2.77").empty());
  CHECK_FALSE(listener.listen_at("127.0.0.1").empty());
}

TEST_CASE("a host that does not come to another is told with both, the interface and the address") {
  const MeetingTry silent{"node1", "node2", "172.17.0.1", "docker0", ETIMEDOUT};
  CHECK(silent.outcome() == "silent");
  CHECK(trouble_of(silent) ==
        "node1 does not reach node2 where ranks would meet, at docker0 172.17.0.1 there: nothing "
        "answers within 3 s: a firewall drops it, or no way leads there");
  CHECK(remedy_of(silent).find("node2 would take docker0 now") != std::string::npos);
  const MeetingTry refused{"node1", "node2", "10.0.0.2", "eth0", ECONNREFUSED};
  CHECK(trouble_of(refused).find("is refused, though it listens there") != std::string::npos);
  CHECK(to_json(MeetingTry{"a", "b", "10.0.0.2", "eth0", 0}).at("outcome") == "listens");
}
