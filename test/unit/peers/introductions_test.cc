#include "peers/introductions.h"

#include <array>
#include <random>
#include <utility>
#include <vector>

#include "support/catch.h"

using nnd::peers::Introduced;
using nnd::peers::Introductions;

namespace {

// Two that have a connection, and what goes between them; 0 is the one that begins.
struct Pair {
  struct Sent {
    std::size_t to;
    bool has_ours, wants_word;
  };
  void send(std::size_t from) {
    ++sent;
    under_way.push_back({1 - from, peer[from].heard, !peer[from].known});
  }
  void pass(std::uint64_t ms) {
    for (const std::uint64_t end = now_ms + ms; now_ms < end; now_ms += 100) {
      for (const std::size_t i : {std::size_t{0}, std::size_t{1}})
        if (!deaf[i] && end_of[i].due(peer[i], i == 0, now_ms)) send(i);
      while (!under_way.empty()) {
        const auto all = std::exchange(under_way, {});
        for (const Sent& one : all) arrive(one);
      }
    }
  }
  void arrive(const Sent& one) {
    if (deaf[one.to] || random() % 100 < lost_of_100) return;
    const auto next = end_of[one.to].take(peer[one.to], one.has_ours, one.wants_word, now_ms);
    told[one.to] += next.is_new ? 1 : 0;
    if (next.answer) send(one.to);
  }

  std::array<Introductions, 2> end_of;
  std::array<Introduced, 2> peer;
  std::array<bool, 2> deaf{};  // knows no such messages
  std::array<int, 2> told{};
  std::vector<Sent> under_way;
  int sent = 0;
  unsigned lost_of_100 = 0;
  std::mt19937 random;
  std::uint64_t now_ms = 1'000'000;
};

}  // namespace

TEST_CASE("three messages introduce two to each other, and nothing follows") {
  Pair pair;
  pair.pass(600'000);
  CHECK(pair.sent == 3);
  CHECK(pair.told == std::array{1, 1});
  CHECK(pair.peer[0].known);
  CHECK(pair.peer[1].known);
}

TEST_CASE("what is lost is said again, and heard once") {
  for (unsigned seed = 0; seed < 300; ++seed) {
    Pair pair;
    pair.random.seed(seed);
    pair.lost_of_100 = 20;
    pair.pass(100'000);
    CAPTURE(seed);
    CHECK(pair.told == std::array{1, 1});
    CHECK(pair.sent <= 24);
  }
}

TEST_CASE("one that knows no such message is left alone after a few") {
  Pair pair;
  const std::size_t old = GENERATE(std::size_t{0}, std::size_t{1});
  pair.deaf[old] = true;
  pair.pass(600'000);
  CHECK(pair.sent == 5);
  CHECK(pair.told == std::array{0, 0});
}

TEST_CASE("who asks for it without end gets a few answers, and is heard once") {
  Introductions end;
  Introduced mad;
  int told = 0, answers = 0;
  for (std::uint64_t now_ms = 1000; now_ms < 1'000'000; ++now_ms) {
    const auto next = end.take(mad, false, true, now_ms);
    told += next.is_new ? 1 : 0;
    answers += next.answer ? 1 : 0;
  }
  CHECK(told == 1);
  CHECK(answers == 12);
}

TEST_CASE("a thousand new peers do not hold up other messages") {
  Introductions end;
  std::array<Introduced, 1000> peers;
  int sent = 0;
  for (Introduced& peer : peers) sent += end.due(peer, true, 5000) ? 1 : 0;
  CHECK(sent == 200);
  for (std::uint64_t now_ms = 5000; now_ms < 20'000; now_ms += 100)
    for (Introduced& peer : peers)
      if (peer.sent == 0) sent += end.due(peer, true, now_ms) ? 1 : 0;
  CHECK(sent == 1000);
}
