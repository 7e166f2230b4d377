#include "cli/rehearse/coordinator.h"

#include <poll.h>

#include <thread>

#include "cli/common/call_error.h"
#include "support/catch.h"
#include "support/free_port.h"

using namespace nnd::cli;
namespace wire = nnd::wire;
using nlohmann::json;

namespace {

const std::string kToken = "0123456789abcdef";
const Tell kQuiet = [](const std::string&) {};

TcpAddress free_root() { return {"127.0.0.1", std::to_string(nnd::test::free_port())}; }

auto later() { return Clock::now() + std::chrono::seconds(60); }

bool never() { return false; }

// A task that knows the token and says what it likes.
wire::JsonSocket call(const TcpAddress& root, const json& about,
                      const std::string& token = kToken) {
  return call_listener(root,
                       {.service = "rehearse", .token = token, .error_kind = "root", .hint = ""},
                       about, later(), never);
}

}  // namespace

TEST_CASE("addresses of a root", "[coordinator]") {
  CHECK(parse_root("host:29500").host == "host");
  CHECK(parse_root("[::1]:7").host == "::1");
  CHECK(parse_root("[::1]:7").port == "7");
  for (const char* wrong : {"", "host", ":7", "host:", "host:x", "host:70000", "host:-1"})
    CHECK_THROWS_AS(parse_root(wrong), CallError);
}

TEST_CASE("an identity goes out and a report comes back", "[coordinator]") {
  const auto root = free_root();
  Coordinator coordinator(root, kToken, 3, "/somewhere", kQuiet);
  std::vector<std::string> seen(3);
  std::vector<std::thread> tasks;
  for (int task = 1; task < 3; ++task)
    tasks.emplace_back([&, task] {
      Participant participant(root, kToken, task, later(), never);
      auto& text = seen[static_cast<std::size_t>(task)];
      text = participant.fabric();
      std::optional<std::string> id;
      while (!(id = participant.id())) poll(nullptr, 0, 1);
      text += *id;
      TaskReport part;
      part.notes.push_back("of task " + std::to_string(task));
      if (task == 1) participant.report(part);  // the other one leaves without
    });
  coordinator.hand_out_id("identity");
  while (!coordinator.complete()) {
    coordinator.attend();
    poll(nullptr, 0, 1);
  }
  for (auto& task : tasks) task.join();
  CHECK(seen[1] == "/somewhereidentity");
  CHECK(seen[2] == "/somewhereidentity");
  CHECK(coordinator.reports().at(1).notes == std::vector<std::string>{"of task 1"});
  CHECK(coordinator.lost() == std::vector<int>{2});
}

TEST_CASE("a task hears that it is over", "[coordinator]") {
  const auto root = free_root();
  Coordinator coordinator(root, kToken, 2, "", kQuiet);
  bool over = false;
  std::thread task([&] {
    Participant participant(root, kToken, 1, later(), never);
    while (!participant.over()) poll(nullptr, 0, 1);
    over = true;
  });
  while (coordinator.arrived() == 0) coordinator.attend();
  coordinator.call_off();
  task.join();
  CHECK(over);
}

TEST_CASE("who isn't there is not waited for beyond the deadline", "[coordinator]") {
  CHECK_THROWS_AS(Participant(free_root(), kToken, 1, Clock::now(), never), CallError);
  CHECK_THROWS_AS(Participant(free_root(), kToken, 1, later(), [] { return true; }), CallError);
}

TEST_CASE("a stranger takes no task's place and is told nothing", "[coordinator]") {
  const auto root = free_root();
  Coordinator coordinator(root, kToken, 3, "/secret", kQuiet);
  coordinator.hand_out_id("identity");
  std::vector<std::string> outcomes(4);
  std::vector<std::thread> callers;
  const auto start = [&](std::size_t i, auto act) {
    callers.emplace_back([&outcomes, i, act] {
      try {
        outcomes[i] = act();
      } catch (const CallError& error) {
        outcomes[i] = error.kind();
      }
    });
  };
  start(0, [&] {
    call(root, {{"task", 1}}, "another token, wrong");
    return "in";
  });
  // Tasks that there can't be, of somebody who knows the token.
  start(1, [&] { return call(root, {{"task", "x"}}).receive(later()) ? "welcome" : "out"; });
  start(2, [&] { return call(root, {{"task", 3}}).receive(later()) ? "welcome" : "out"; });
  start(3, [&] { return Participant(root, kToken, 1, later(), never).fabric(); });
  while (coordinator.arrived() < 1 || outcomes[0].empty()) {
    coordinator.attend();
    poll(nullptr, 0, 1);
  }
  for (int i = 0; i < 100; ++i) {
    coordinator.attend();
    poll(nullptr, 0, 1);
  }
  for (auto& caller : callers) caller.join();
  CHECK(outcomes == std::vector<std::string>{"refused", "out", "out", "/secret"});
  CHECK(coordinator.arrived() == 1);
}

TEST_CASE("the place of a task is not taken from it", "[coordinator]") {
  const auto root = free_root();
  std::string told;
  Coordinator coordinator(root, kToken, 2, "/first", [&](const std::string& text) { told = text; });
  std::optional<wire::JsonSocket> first, second;
  std::thread one([&] { first.emplace(call(root, {{"task", 1}})); });
  while (coordinator.arrived() == 0) coordinator.attend();
  one.join();
  std::thread other([&] { second.emplace(call(root, {{"task", 1}})); });
  while (told.empty()) coordinator.attend();
  other.join();
  CHECK(told.find("has already") != std::string::npos);
  CHECK_FALSE(second->receive(later()));
  CHECK(first->receive(later())->contains("welcome"));
  CHECK(coordinator.lost().empty());
}

TEST_CASE("a report that makes no sense is that task's failure", "[coordinator]") {
  for (const json& report : {json::object(), json("x"), json{{"ranks", 1}}, json()}) {
    const auto root = free_root();
    Coordinator coordinator(root, kToken, 2, "", kQuiet);
    std::thread task([&] { call(root, {{"task", 1}}).send({{"report", report}}); });
    while (!coordinator.complete()) {
      coordinator.attend();
      poll(nullptr, 0, 1);
    }
    task.join();
    REQUIRE(coordinator.reports().at(1).failures.size() == 1);
    CHECK(coordinator.reports().at(1).failures[0].find("makes no sense") != std::string::npos);
  }
}
