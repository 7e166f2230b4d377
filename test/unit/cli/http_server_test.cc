// The server on a socket of its own, with callers in the same thread.
#include "cli/exporter/http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <string>

#include "cli/exporter/listen.h"
#include "support/catch.h"

namespace nnd::cli {

namespace {

class Served {
 public:
  Served()
      : at_(listen_for_scrapes("0")), server_(at_.fd, [this](const HttpRequest& request) {
          asked = request;
          return reply;
        }) {}

  // A caller who has sent this.
  int call(const std::string& sent) const {
    const auto port = at_.page.substr(at_.page.rfind(':') + 1);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(port)));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    REQUIRE(::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof(to)) == 0);
    REQUIRE(::send(fd, sent.data(), sent.size(), 0) == static_cast<ssize_t>(sent.size()));
    return fd;
  }

  // All that comes until the server closes.
  std::string hear(int fd) {
    std::string out;
    char some[65536];
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (std::chrono::steady_clock::now() < end) {
      server_.run(std::chrono::milliseconds(1));
      const auto got = ::recv(fd, some, sizeof(some), MSG_DONTWAIT);
      if (got == 0) break;
      if (got > 0) out.append(some, static_cast<std::size_t>(got));
    }
    ::close(fd);
    return out;
  }

  HttpServer& server() { return server_; }

  HttpRequest asked;
  HttpReply reply{200, "text/plain", std::make_shared<const std::string>("well\n"), ""};

 private:
  Listening at_;
  HttpServer server_;
};

}  // namespace

TEST_CASE("a caller is answered and hung up on", "[exporter]") {
  Served served;
  const std::string heard =
      served.hear(served.call("GET /metrics?x=1 HTTP/1.1\r\nHost: x\r\nAccept: text/html\r\n\r\n"));
  CHECK(heard.starts_with("HTTP/1.1 200 OK\r\n"));
  CHECK(heard.find("\r\nConnection: close\r\n") != std::string::npos);
  CHECK(heard.find("\r\nContent-Type: text/plain\r\n") != std::string::npos);
  CHECK(heard.ends_with("\r\n\r\nwell\n"));
  CHECK(served.asked.method == "GET");
  CHECK(served.asked.path == "/metrics");
  CHECK(served.asked.accept == "text/html");
}

TEST_CASE("a page that is on its way outlives the next", "[exporter]") {
  constexpr std::size_t kMoreThanASocketTakes = std::size_t{32} << 20;
  Served served;
  served.reply.body = std::make_shared<const std::string>(kMoreThanASocketTakes, 'a');
  const int fd = served.call("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
  while (served.asked.path.empty()) served.server().run(std::chrono::milliseconds(10));
  served.reply.body = std::make_shared<const std::string>("next\n");
  const std::string heard = served.hear(fd);
  CHECK(heard.size() > kMoreThanASocketTakes);
  CHECK(heard.ends_with("\r\n\r\n" + std::string(kMoreThanASocketTakes, 'a')));
}

TEST_CASE("who is there when it ends is hung up on", "[exporter]") {
  int waits = -1, reads = -1;
  {
    Served served;
    served.reply.body = std::make_shared<const std::string>(std::size_t{32} << 20, 'a');
    waits = served.call("GET /met");
    reads = served.call("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
    while (served.asked.path.empty()) served.server().run(std::chrono::milliseconds(10));
  }
  char some[65536];
  CHECK(::recv(waits, some, sizeof(some), 0) <= 0);
  while (::recv(reads, some, sizeof(some), 0) > 0) {
  }
  ::close(waits);
  ::close(reads);
}

}  // namespace nnd::cli
