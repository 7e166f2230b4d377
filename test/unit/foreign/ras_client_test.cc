// Who asks NCCL's RAS: what it takes for an answer, and from whom.
#include "foreign/ras_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <thread>

#include "support/catch.h"

using namespace nnd::foreign;

namespace {

const std::string kAnswer =
    R"({"nccl_version": "2.28.9", "timestamp": "2026-11-26 11:17:07", "communicators_count": 1, )"
    R"("communicators": [{"hash": "0x1f", "size": 2, "ranks": [], "missing_ranks": []}]})";

// Serves one who connects, on a port of its own.
class Server {
 public:
  explicit Server(std::function<void(int fd)> serve) {
    fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    REQUIRE(::bind(fd_, reinterpret_cast<sockaddr*>(&at), size) == 0);
    REQUIRE(::listen(fd_, 1) == 0);
    REQUIRE(::getsockname(fd_, reinterpret_cast<sockaddr*>(&at), &size) == 0);
    address = "127.0.0.1:" + std::to_string(ntohs(at.sin_port));
    thread_ = std::thread([this, serve = std::move(serve)] {
      const int peer = ::accept(fd_, nullptr, nullptr);
      if (peer < 0) return;
      serve(peer);
      ::close(peer);
    });
  }
  ~Server() {
    ::shutdown(fd_, SHUT_RDWR);
    thread_.join();
    ::close(fd_);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  std::string address;

 private:
  int fd_ = -1;
  std::thread thread_;
};

bool say(int fd, const std::string& text) {
  return ::send(fd, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
}

// What the other says, up to a line that ends so.
std::string heard(int fd, const std::string& end) {
  std::string out;
  char one = 0;
  while (!out.ends_with(end) && ::recv(fd, &one, 1, 0) == 1) out += one;
  return out;
}

std::optional<std::string> ask(const std::string& address,
                               std::chrono::milliseconds patience = std::chrono::seconds(20)) {
  const std::atomic<bool> stop{false};
  return ask_ras(address, patience, stop);
}

}  // namespace

TEST_CASE("RAS is asked as NVIDIA's client does", "[ras]") {
  std::string asked;
  std::optional<std::string> answer;
  {
    const Server server([&](int fd) {
      asked = heard(fd, "\n");
      say(fd, "SERVER PROT");
      say(fd, "OCOL 2\n");
      asked += heard(fd, "STATUS\n");
      say(fd, "OK\n" + kAnswer);
    });
    answer = ask(server.address);
  }
  CHECK(asked == "CLIENT PROTOCOL 2\nSET FORMAT json\nSTATUS\n");
  REQUIRE(answer);
  CHECK(read_ras_status("RAS", *answer)->communicators.at(0).hash == "0x1f");
}

TEST_CASE("who is no RAS is asked nothing", "[ras]") {
  const std::string greeting = GENERATE("HTTP/1.1 400 Bad Request\r\n\r\n", "SERVER PROFILE\n", "");
  std::string asked;
  {
    const Server server([&](int fd) {
      heard(fd, "\n");
      say(fd, greeting);
      if (!greeting.empty()) asked = heard(fd, "STATUS\n");
    });
    CHECK_FALSE(ask(server.address));
  }
  CHECK(asked.empty());
}

TEST_CASE("an answer that is none, or doesn't end", "[ras]") {
  const bool endless = GENERATE(false, true);
  const Server server([&](int fd) {
    heard(fd, "\n");
    say(fd, "SERVER PROTOCOL 2\n");
    heard(fd, "STATUS\n");
    const std::string lines(1 << 20, 'x');
    say(fd, "ERROR: what is JSON?\n");
    while (endless && say(fd, lines)) continue;
  });
  CHECK_FALSE(ask(server.address));
}

TEST_CASE("who says nothing is left alone in the end, or when the client goes", "[ras]") {
  const Server server([](int fd) {
    pollfd one{fd, POLLRDHUP, 0};
    ::poll(&one, 1, 60'000);
  });
  if (GENERATE(false, true)) {
    CHECK_FALSE(ask(server.address, std::chrono::milliseconds(100)));
  } else {
    RasClient client(server.address);
    CHECK_FALSE(client.look());
    CHECK(client.answers().empty());
  }
}

TEST_CASE("nobody is there, or it is no address", "[ras]") {
  CHECK_FALSE(ask("127.0.0.1:1"));
  CHECK_FALSE(ask("localhost"));
  CHECK_FALSE(ask("::::"));
}

TEST_CASE("an answer is taken up when it is there", "[ras]") {
  const Server server([&](int fd) {
    heard(fd, "\n");
    say(fd, "SERVER PROTOCOL 2\n");
    heard(fd, "STATUS\n");
    say(fd, "OK\n" + kAnswer);
  });
  RasClient client(server.address);
  while (!client.look()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  REQUIRE(client.answers().size() == 1);
  CHECK(client.answers()[0].nccl == "2.28.9");
  CHECK_FALSE(client.look());  // it is asked again much later
}
