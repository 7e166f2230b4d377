// Who comes in at a listener, and who doesn't.
#include "cli/exchange/listener.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "cli/common/call_error.h"
#include "support/catch.h"

using namespace nnd::cli;
using nlohmann::json;

namespace {

const std::string kToken = "0123456789abcdef";

Meeting meeting(const std::string& token = kToken) {
  return {.service = "ping", .token = token, .error_kind = "address", .hint = ""};
}

auto later() { return Clock::now() + std::chrono::seconds(60); }

// A connection on which anything can be said.
class Raw {
 public:
  explicit Raw(const Listener& listener, const std::string& from = "127.0.0.1")
      : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in own{};
    own.sin_family = AF_INET;
    inet_pton(AF_INET, from.c_str(), &own.sin_addr);
    REQUIRE(bind(fd_, reinterpret_cast<sockaddr*>(&own), sizeof own) == 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(listener.port())));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  }
  ~Raw() {
    if (fd_ >= 0) close(fd_);
  }
  Raw(Raw&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

  void say(const std::string& text) const {
    static_cast<void>(send(fd_, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
  }
  // What it was told before is of no interest.
  bool closed() const {
    char bytes[4096];
    ssize_t some = 0;
    while ((some = recv(fd_, bytes, sizeof bytes, MSG_DONTWAIT)) > 0) {
    }
    return some == 0 || errno == ECONNRESET;
  }

 private:
  int fd_;
};

// Calls from a thread of its own, and says hello.
class Calling {
 public:
  explicit Calling(const Listener& listener, const std::string& token = kToken)
      : thread_([this, token, address = TcpAddress{"127.0.0.1", listener.port()}] {
          try {
            auto called = call_listener(address, meeting(token), {{"who", "me"}}, later(),
                                        [] { return false; });
            called.send({{"hello", true}});
            said_ = called.receive(later()).value_or(json());
          } catch (const CallError& error) {
            failed_ = error.kind();
          }
        }) {}
  ~Calling() { wait(); }
  void wait() {
    if (thread_.joinable()) thread_.join();
  }

  json said_;
  std::string failed_;

 private:
  std::thread thread_;
};

std::optional<Listener::Caller> admit(Listener& listener, std::vector<std::string>& refused) {
  const auto end = later();
  while (Clock::now() < end) {
    if (auto caller = listener.attend([&](const std::string& why) { refused.push_back(why); }))
      return caller;
    poll(nullptr, 0, 1);
  }
  return std::nullopt;
}

void check_talks(Listener& listener, Calling& calling, std::vector<std::string>& refused) {
  auto caller = admit(listener, refused);
  REQUIRE(caller);
  CHECK(caller->about == json{{"who", "me"}});
  CHECK(caller->address == "127.0.0.1");
  CHECK(caller->socket.receive(later()) == json{{"hello", true}});
  caller->socket.send({{"answer", 1}});
  calling.wait();
  CHECK(calling.said_ == json{{"answer", 1}});
}

}  // namespace

TEST_CASE("who knows the token talks; who doesn't hears so", "[listener]") {
  Listener listener({"127.0.0.1", "0"}, meeting());
  std::vector<std::string> refused;
  {
    Calling stranger(listener, kToken + "0"), friendly(listener);
    check_talks(listener, friendly, refused);
    while (refused.empty()) admit(listener, refused);
    stranger.wait();
    CHECK(stranger.failed_ == "refused");
  }
  REQUIRE(refused.size() == 1);
  CHECK(refused[0].find("the token is another one") != std::string::npos);
}

TEST_CASE("what strangers say ends their connection and nothing else", "[listener]") {
  Listener listener({"127.0.0.1", "0"}, meeting());
  std::vector<Raw> strangers;
  const std::vector<std::string> words{
      "{\"task\":\"x\"}\n",
      "{\"hello\":7}\n",
      "{\"hello\":\"nccl-net-diag ping 2\",\"nonce\":[],\"about\":1}\n",
      "{\"a\":" + std::string(1500, '[') + "\n",
      "{\"report\":" + std::string(80000, '['),
      std::string(1 << 20, 'x'),
      "GET / HTTP/1.1\r\n\r\n",
      "\xff\xfe\n"};
  for (const auto& text : words) {
    strangers.emplace_back(listener);
    strangers.back().say(text);
  }
  std::vector<std::string> refused;
  Calling calling(listener);
  check_talks(listener, calling, refused);
  const auto all_closed = [&] {
    return std::all_of(strangers.begin(), strangers.end(),
                       [](const Raw& stranger) { return stranger.closed(); });
  };
  while (!all_closed())
    static_cast<void>(listener.attend([&](const std::string& why) { refused.push_back(why); }));
  CHECK(listener.pending() == 0);
  CHECK(std::set(refused.begin(), refused.end()).size() == refused.size());
}

TEST_CASE("whoever is refused again and again is told once, and a crowd not one by one",
          "[listener]") {
  Listener listener({"127.0.0.1", "0"}, meeting());
  std::vector<std::string> refused;
  const auto visit = [&](const std::string& from, const std::string& word) {
    Raw stranger(listener, from);
    stranger.say(word);
    while (!stranger.closed())
      static_cast<void>(listener.attend([&](const std::string& why) { refused.push_back(why); }));
  };
  for (int i = 0; i < 20; ++i) visit("127.0.0.1", "GET / HTTP/1.1\r\n\r\n");
  CHECK(refused.size() == 1);
  for (int i = 2; i < 60; ++i) visit("127.0.0." + std::to_string(i), "GET /\r\n");
  REQUIRE(refused.size() == 31);
  CHECK(refused.back() == "Other connections that are refused are not told.");
}

TEST_CASE("idle connections keep nobody out", "[listener]") {
  Listener listener({"127.0.0.1", "0"}, meeting());
  std::vector<Raw> idle;
  for (int i = 0; i < 300; ++i) idle.emplace_back(listener, i % 2 == 0 ? "127.0.0.1" : "127.0.0.2");
  std::vector<std::string> refused;
  Calling calling(listener);
  check_talks(listener, calling, refused);
  CHECK(listener.pending() <= 64);
  // Nor do those that greet and then say nothing.
  for (int i = 0; i < 100; ++i) {
    idle.emplace_back(listener);
    idle.back().say("{\"hello\":\"nccl-net-diag ping 2\",\"nonce\":\"" + std::string(64, 'a') +
                    "\",\"about\":{}}\n");
  }
  Calling another(listener);
  check_talks(listener, another, refused);
  CHECK(listener.pending() <= 64);
}

TEST_CASE("who says nothing is sent away soon", "[listener]") {
  Listener listener({"127.0.0.1", "0"}, meeting());
  const Raw silent(listener);
  std::vector<std::string> refused;
  while (refused.empty())
    static_cast<void>(listener.attend([&](const std::string& why) { refused.push_back(why); }));
  CHECK(refused[0].find("too little for too long") != std::string::npos);
  CHECK(silent.closed());
}

TEST_CASE("where nobody is, or somebody else listens, the deadline is kept", "[listener]") {
  const auto soon = [] { return Clock::now() + std::chrono::milliseconds(200); };
  const auto kind = [&](const TcpAddress& address, bool stop) {
    try {
      call_listener(address, meeting(), json::object(), soon(), [stop] { return stop; });
      return std::string();
    } catch (const CallError& error) {
      return error.kind();
    }
  };
  std::string port;
  {
    Listener listener({"127.0.0.1", "0"}, meeting());
    port = listener.port();
    CHECK(kind({"127.0.0.1", port}, false) == "address");  // it listens and never attends
    CHECK(kind({"127.0.0.1", port}, true) == "interrupted");
  }
  CHECK(kind({"127.0.0.1", port}, false) == "address");
}
