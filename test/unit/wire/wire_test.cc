#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "support/catch.h"
#include "wire/json_socket.h"

using namespace nnd::wire;
using nlohmann::json;

namespace {

// One end talks JSON, the other is a socket on which anything can be said.
struct Ends {
  explicit Ends(std::pair<int, int> fds) : socket(fds.first), raw(fds.second) {}
  Ends() : Ends(socket_pair()) {}
  ~Ends() { ::close(raw); }

  void say(const std::string& text) const {
    REQUIRE(::send(raw, text.data(), text.size(), MSG_NOSIGNAL) ==
            static_cast<ssize_t>(text.size()));
  }

  JsonSocket socket;
  int raw;
};

}  // namespace

TEST_CASE("lines are cut where they end, and only up to the limit", "[wire]") {
  LineBuffer lines(8);
  CHECK(lines.add("one\ntw"));
  CHECK(lines.take() == "one");
  CHECK_FALSE(lines.take());
  CHECK(lines.add("o\n12345678\n"));
  CHECK(lines.take() == "two");
  CHECK(lines.take() == "12345678");
  CHECK_FALSE(lines.add("123456789"));
  CHECK_FALSE(lines.take());
  CHECK_FALSE(lines.add("\nx\n"));  // once broken, always
  CHECK_FALSE(lines.take());
  LineBuffer whole(8);
  whole.add("123456789\n");
  CHECK_FALSE(whole.take());
}

TEST_CASE("messages arrive in their order, in whatever pieces", "[wire]") {
  Ends ends;
  CHECK_FALSE(ends.socket.receive());
  ends.say("{\"a\":1}\n{\"b\"");
  CHECK(ends.socket.receive() == json{{"a", 1}});
  CHECK_FALSE(ends.socket.receive());
  ends.say(":2}\n{\"c\":3}\n");
  CHECK(ends.socket.receive() == json{{"b", 2}});
  ::shutdown(ends.raw, SHUT_WR);
  CHECK(ends.socket.receive() == json{{"c", 3}});
  CHECK_FALSE(ends.socket.closed());
  CHECK_FALSE(ends.socket.receive());
  CHECK(ends.socket.closed());
  CHECK(ends.socket.why() == "it is gone");
}

TEST_CASE("a deadline is kept, and what comes before it is waited for", "[wire]") {
  Ends ends;
  CHECK_FALSE(ends.socket.receive(Clock::now() + std::chrono::milliseconds(20)));
  CHECK_FALSE(ends.socket.closed());
  std::thread other([&] {
    const std::string text = "{\"late\":true}\n";
    static_cast<void>(::send(ends.raw, text.data(), text.size(), 0));
  });
  CHECK(ends.socket.receive(Clock::now() + std::chrono::minutes(1)) == json{{"late", true}});
  other.join();
}

TEST_CASE("what is no message closes the connection", "[wire]") {
  for (const std::string& wrong :
       {std::string("no JSON"), std::string("[1]"), std::string("\"text\""), std::string("{\"a\":"),
        "{\"a\":" + std::string(80000, '[') + std::string(80000, ']') + "}",
        std::string("{\"a\":\"\xff\"}")}) {
    INFO(wrong.substr(0, 20));
    Ends ends;
    ends.say(wrong + "\n{\"next\":1}\n");
    CHECK_FALSE(ends.socket.receive());
    CHECK(ends.socket.closed());
    CHECK_FALSE(ends.socket.receive());
    CHECK_FALSE(ends.socket.send({{"a", 1}}));
  }
}

TEST_CASE("brackets in texts nest nothing", "[wire]") {
  const json message{{"a", std::string(1000, '[') + "\\\"{"}};
  CHECK(parse_message(text_of(message)) == message);
  json deep = 1;
  for (int i = 0; i < 30; ++i) deep = json::array({deep});
  CHECK(parse_message(json{{"a", deep}}.dump()));
}

TEST_CASE("who sends without end is left, however much it is", "[wire]") {
  Ends ends;
  std::thread other([&] {
    const std::string chunk(65536, 'x');
    while (::send(ends.raw, chunk.data(), chunk.size(), MSG_NOSIGNAL) > 0) {
    }
  });
  while (!ends.socket.closed()) {
    CHECK_FALSE(ends.socket.receive());
    ends.socket.wait(Clock::now() + std::chrono::seconds(1));
  }
  CHECK(ends.socket.why() == "it said too much");
  other.join();
}
