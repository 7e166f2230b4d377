// Who comes last to collectives: processes that tell each other, without a network.
#include "peers/arrivals.h"

#include <random>

#include "support/catch.h"

using namespace nnd::peers;
using nnd::state::Latecomer;
using nnd::state::Who;

namespace {

constexpr std::uint64_t kComm = 0x77;

// A job whose processes tell the next one in a ring every two seconds, and one across it, as a tree
// has them.
class Job {
 public:
  explicit Job(std::size_t ranks) : arrivals_(ranks) {
    for (std::size_t i = 0; i < ranks; ++i) {
      Who& who = who_.emplace_back();
      who.proc = 100 + i;
      who.rank = static_cast<std::int32_t>(i);
      who.host = "node";
    }
  }

  // One collective each second, in which each rank was for so long.
  template <class F>
  void run(int seconds, F&& us_of) {
    for (int n = 0; n < seconds; ++n) {
      now_ms_ += 1000;
      ++ordinal_;
      for (std::size_t i = 0; i < arrivals_.size(); ++i)
        arrivals_[i].note_own_stay({kComm, ordinal_, us_of(i)}, who_[i], now_ms_);
      if (n % 2 == 0) tell();
    }
  }
  Latecomer seen_by(std::size_t rank) { return arrivals_[rank].latecomer(now_ms_); }
  Arrivals& at(std::size_t rank) { return arrivals_[rank]; }
  const Who& who(std::size_t rank) const { return who_[rank]; }
  std::uint64_t now_ms() const { return now_ms_; }

 private:
  void tell() {
    ++round_;
    const std::size_t ranks = arrivals_.size();
    for (std::size_t i = 0; i < ranks; ++i) {
      const std::size_t step = round_ % 2 == 0 ? 1 : std::max<std::size_t>(1, ranks / 2);
      const std::size_t to = (i + step) % ranks;
      if (to != i) arrivals_[to].heard(arrivals_[i].to_tell(now_ms_), who_[to], now_ms_);
    }
  }

  std::vector<Arrivals> arrivals_;
  std::vector<Who> who_;
  std::uint64_t now_ms_ = 1'000'000, ordinal_ = 0;
  unsigned round_ = 0;
};

}  // namespace

TEST_CASE("arrivals: all processes name the one that comes last, and by how much") {
  const std::size_t ranks = GENERATE(2u, 3u, 8u, 16u);
  const std::size_t late = ranks - 1;
  Job job(ranks);
  job.run(120, [&](std::size_t i) { return i == late ? 2'000u : 122'000u; });
  for (std::size_t i = 0; i < ranks; ++i) {
    const Latecomer seen = job.seen_by(i);
    INFO("rank " << i << " of " << ranks << ": " << seen.times << " of " << seen.of);
    REQUIRE(seen.known());
    CHECK(seen.who.rank == static_cast<int>(late));
    CHECK(seen.us == 120'000);
    CHECK(seen.times * 8 >= seen.of * 7);
    CHECK(seen.times >= 8);
  }
}

TEST_CASE("arrivals: where nobody waits, or all do, nothing is told and nobody named") {
  Job job(4);
  SECTION("short collectives") {
    job.run(60, [](std::size_t i) { return 1000u + static_cast<unsigned>(i) * 100; });
    CHECK(job.at(0).to_tell(job.now_ms()).empty());
  }
  SECTION("a slow network, in which all are for long") {
    job.run(60, [](std::size_t i) { return 400'000u + static_cast<unsigned>(i) * 3000; });
  }
  SECTION("one that is early, and all others together") {
    job.run(120,
            [](std::size_t i) { return i == 0 ? 150'000u : 2'000u + static_cast<unsigned>(i); });
  }
  SECTION("two that come last together") {
    job.run(120,
            [](std::size_t i) { return i < 2 ? 150'000u : 2'000u + static_cast<unsigned>(i); });
  }
  SECTION("now this one is last, now that one") {
    std::mt19937 random(7);
    std::size_t turn = 0, asked = 0;
    job.run(120, [&](std::size_t i) {
      if (asked++ % 4 == 0) turn = random() % 4;
      return i == turn ? 2'000u : 150'000u;
    });
  }
  for (std::size_t i = 0; i < 4; ++i) CHECK_FALSE(job.seen_by(i).known());
}

TEST_CASE("arrivals: one that was late and is not any more is forgotten") {
  Job job(4);
  job.run(60, [](std::size_t i) { return i == 1 ? 2'000u : 90'000u; });
  CHECK(job.seen_by(0).who.rank == 1);
  job.run(500, [](std::size_t) { return 90'000u; });
  CHECK_FALSE(job.seen_by(0).known());
}

TEST_CASE("arrivals: who is too far away to compare is told, until nobody says so any more") {
  Arrivals near, far;
  Arrived word;
  word.latecomer.who.proc = 7;
  word.latecomer.who.rank = 3;
  word.latecomer.times = word.latecomer.of = 9;
  word.latecomer.us = 120'000;
  Who self;
  self.proc = 1;
  far.heard(word, self, 1'000'000);
  REQUIRE(far.latecomer(1'010'000).known());
  const Arrived passed = far.to_tell(1'010'000);
  CHECK(passed.age_ms == 10'000);
  near.heard(passed, self, 1'010'000);
  CHECK(near.latecomer(1'010'000).who.rank == 3);
  CHECK(near.latecomer(1'010'000).us == 120'000);
  // Two that tell each other keep nothing alive.
  for (std::uint64_t now = 1'010'000; now < 1'080'000; now += 2000) {
    near.heard(far.to_tell(now), self, now);
    far.heard(near.to_tell(now), self, now);
  }
  CHECK_FALSE(near.latecomer(1'080'000).known());
  CHECK_FALSE(far.latecomer(1'080'000).known());
}

TEST_CASE("arrivals: what a peer makes up fills nothing, and says nothing of this process") {
  Job job(2);
  job.run(5, [](std::size_t) { return 50'000u; });
  Arrivals& own = job.at(0);
  for (std::uint64_t n = 1; n < 10'000; ++n) {
    Arrival lie{kComm, n, 0, ~0u, job.who(0), 0};
    Arrived word;
    word.arrivals = {lie, {kComm + n, n, 0, ~0u, job.who(1), 0}, {kComm, 0, 0, 1, job.who(1), 0}};
    own.heard(word, job.who(0), job.now_ms());
  }
  const auto told = own.to_tell(job.now_ms()).arrivals;
  CHECK(told.size() <= kArrivalsAtOnce);
  for (const Arrival& one : told) CHECK(one.comm == kComm);
  job.run(30, [](std::size_t) { return 50'000u; });
  CHECK(job.seen_by(0).who.proc != job.who(0).proc);
}
