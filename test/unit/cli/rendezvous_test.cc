#include "cli/common/rendezvous.h"

#include <poll.h>

#include <thread>

#include "cli/common/call_error.h"
#include "support/catch.h"
#include "support/free_port.h"

using namespace nnd::cli;
using nlohmann::json;

namespace {

TcpAddress free_root() { return {"127.0.0.1", std::to_string(nnd::test::free_port())}; }

const auto kLater = std::chrono::seconds(60);

}  // namespace

TEST_CASE("addresses of a root", "[rendezvous]") {
  CHECK(parse_root("host:29500").host == "host");
  CHECK(parse_root("[::1]:7").host == "::1");
  CHECK(parse_root("[::1]:7").port == "7");
  for (const char* wrong : {"", "host", ":7", "host:", "host:x", "host:70000", "host:-1"})
    CHECK_THROWS_AS(parse_root(wrong), CallError);
}

TEST_CASE("an identity goes out and a report comes back", "[rendezvous]") {
  const auto root = free_root();
  MeetingPlace place(root, 3, {{"fabric", "/somewhere"}});
  std::vector<std::string> seen(3);
  std::vector<std::thread> guests;
  for (int task = 1; task < 3; ++task)
    guests.emplace_back([&, task] {
      Visit visit(root, task, Visit::Clock::now() + kLater, [] { return false; });
      auto& text = seen[static_cast<std::size_t>(task)];
      text = visit.welcome().value("fabric", "");
      std::optional<std::string> id;
      while (!(id = visit.id())) poll(nullptr, 0, 1);
      text += *id;
      if (task == 1) visit.report({{"task", task}});  // the other one leaves without
    });
  place.hand_out_id("identity");
  while (!place.complete()) {
    place.attend();
    poll(nullptr, 0, 1);
  }
  for (auto& guest : guests) guest.join();
  CHECK(seen[1] == "/somewhereidentity");
  CHECK(seen[2] == "/somewhereidentity");
  CHECK(place.reports().at(1).at("task") == 1);
  CHECK(place.lost() == std::vector<int>{2});
}

TEST_CASE("a guest hears that it is over", "[rendezvous]") {
  const auto root = free_root();
  std::optional<MeetingPlace> place(std::in_place, root, 2, json::object());
  bool over = false;
  std::thread guest([&] {
    Visit visit(root, 1, Visit::Clock::now() + kLater, [] { return false; });
    while (!visit.over()) poll(nullptr, 0, 1);
    over = true;
  });
  while (place->arrived() == 0) place->attend();
  place->call_off();
  guest.join();
  CHECK(over);
}

TEST_CASE("who isn't there is not waited for beyond the deadline", "[rendezvous]") {
  CHECK_THROWS_AS(Visit(free_root(), 1, Visit::Clock::now(), [] { return false; }), CallError);
  CHECK_THROWS_AS(Visit(free_root(), 1, Visit::Clock::now() + kLater, [] { return true; }),
                  CallError);
}
