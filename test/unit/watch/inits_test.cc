// Which waits of the bootstrap are told, how often, and how loud: entries of state as NCCL's
// threads would leave them.
#include "watch/inits.h"

#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "context/clock.h"
#include "support/catch.h"
#include "support/recorded.h"

using namespace nnd;
using nlohmann::json;

namespace {

constexpr std::uint64_t kSec = 1'000'000'000;

// This thread makes a communicator and has waited for its root since now.
std::uint64_t wait_for_answer() {
  state::begin_bootstrap(0x1f);
  state::OwnBoot& own = *state::own_boot();
  own.boot.root = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 11}, 4711};
  own.boot.own = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 12}, 40211};
  own.boot.connects = 1;
  own.boot.listens = 2;
  own.boot.call = state::BootCall::kAccept;
  own.boot.since_ns = context::mono_ns();
  own.publish();
  return own.boot.since_ns;
}

std::vector<json> of(const std::vector<json>& log, const char* name) {
  std::vector<json> out;
  for (const json& event : log)
    if (event.at("ev") == name) out.push_back(event);
  return out;
}

std::vector<json> stalls(const std::vector<json>& log) { return of(log, "init.stall"); }

}  // namespace

TEST_CASE("Of a thread that is known for one call only the wait is told, and that it is over") {
  const auto log = test::recorded([] {
    watch::Inits inits;
    state::OwnBoot& own = *state::begin_own_boot(state::BootRole::kRank);
    own.boot.passing = true;
    own.boot.call = state::BootCall::kAccept;
    own.boot.since_ns = context::mono_ns();
    own.publish();
    const std::uint64_t since = own.boot.since_ns;
    state::BootThread& entry = *own.entry;
    for (std::uint64_t sec = 1; sec < 12; ++sec) {
      entry.last_ns.store(since + sec * kSec);
      inits.look(since + sec * kSec);
    }
    own.boot.call = state::BootCall::kNone;
    own.publish();
    state::end_own_boot();
    for (std::uint64_t sec = 12; sec < 40; ++sec) inits.look(since + sec * kSec);
  });
  REQUIRE(stalls(log).size() == 1);
  CHECK(stalls(log)[0].at("age_us") == 10e6);
  CHECK(of(log, "init.ready").size() == 1);
}

TEST_CASE("A communicator that waited says once that it is made, whenever that is looked at") {
  const auto log = test::recorded([] {
    watch::Inits inits;
    const std::uint64_t since = wait_for_answer();
    state::OwnBoot& own = *state::own_boot();
    for (std::uint64_t sec = 1; sec < 12; ++sec) {
      own.entry->last_ns.store(since + sec * kSec);
      inits.look(since + sec * kSec);
    }
    own.boot.call = state::BootCall::kNone;
    own.boot.receives = 1;
    state::Boot over;
    REQUIRE(state::end_bootstrap(over));  // who is told of it tells it
    inits.look(since + 12 * kSec);
  });
  CHECK(stalls(log).size() == 1);
  CHECK(of(log, "init.ready").empty());
}

TEST_CASE("A wait is told at 10, 30 and 60 s, and then no more") {
  const auto told = stalls(test::recorded([] {
    watch::Inits inits;
    const std::uint64_t since = wait_for_answer();
    for (std::uint64_t sec = 1; sec < 300; ++sec) {
      state::own_boot()->entry->last_ns.store(since + sec * kSec);
      inits.look(since + sec * kSec);
    }
  }));
  REQUIRE(told.size() == 3);
  CHECK(told[0].at("age_us") == 10e6);
  CHECK(told[1].at("age_us") == 30e6);
  CHECK(told[2].at("age_us") == 60e6);
  CHECK(told[0].at("sev") == "info");
  CHECK(told[1].at("sev") == "warn");
  CHECK(told[0].at("step") == "answer");
  CHECK(told[0].at("root") == "10.0.0.11:4711");
  CHECK(told[0].at("comm") == "0x1f");
  CHECK(told[0].at("cause") == "INIT-STUCK");
}

TEST_CASE("A thread that has stopped asking waits for nothing") {
  CHECK(stalls(test::recorded([] {
          watch::Inits inits;
          const std::uint64_t since = wait_for_answer();
          state::own_boot()->entry->last_ns.store(since);
          for (std::uint64_t sec = 1; sec < 70; ++sec) inits.look(since + sec * kSec);
        })).empty());
}

TEST_CASE("One that is inside a call that blocks does wait") {
  CHECK(stalls(test::recorded([] {
          watch::Inits inits;
          const std::uint64_t since = wait_for_answer();
          state::own_boot()->entry->inside.store(true);
          for (std::uint64_t sec = 1; sec < 15; ++sec) inits.look(since + sec * kSec);
        })).size() == 1);
}

TEST_CASE("A thread that waits for guests is no root where no rank is with it") {
  for (const bool with_rank : {false, true}) {
    const auto told = stalls(test::recorded([with_rank] {
      watch::Inits inits;
      if (with_rank) std::thread(wait_for_answer).join();
      state::begin_own_boot(state::BootRole::kRoot);
      state::OwnBoot& own = *state::own_boot();
      own.boot.call = state::BootCall::kAccept;
      own.boot.own = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 11}, 4711};
      own.boot.since_ns = context::mono_ns();
      own.publish();
      own.entry->inside.store(true);
      for (std::uint64_t sec = 6; sec < 15; ++sec) inits.look(own.boot.since_ns + sec * kSec);
    }));
    REQUIRE(told.size() == (with_rank ? 1u : 0u));
    if (with_rank) CHECK(told[0].at("step") == "gather");
  }
}

TEST_CASE("What goes on begins anew") {
  CHECK(stalls(test::recorded([] {
          watch::Inits inits;
          const std::uint64_t since = wait_for_answer();
          state::OwnBoot& own = *state::own_boot();
          for (std::uint64_t sec = 1; sec < 35; ++sec) {
            own.entry->last_ns.store(since + sec * kSec);
            own.boot.since_ns = since + sec / 9 * 9 * kSec;  // something comes every 9 s
            own.publish();
            inits.look(since + sec * kSec);
          }
        })).empty());
}

TEST_CASE("A told wait of a communicator that was made is told to be over, once") {
  const bool made = GENERATE(false, true);
  const auto log = test::recorded([made] {
    watch::Inits inits;
    const std::uint64_t since = wait_for_answer();
    state::OwnBoot& own = *state::own_boot();
    if (made) own.boot.began_ns = 0;
    for (std::uint64_t sec = 1; sec < 20; ++sec) {
      own.entry->last_ns.store(since + sec * kSec);
      if (sec == 15) own.boot.call = state::BootCall::kNone;
      own.publish();
      inits.look(since + sec * kSec);
    }
  });
  CHECK(stalls(log).size() == 1);
  const auto over = of(log, "init.ready");
  REQUIRE(over.size() == (made ? 1u : 0u));  // else the communicator says it
  if (made) CHECK(over[0].at("comm") == "0x1f");
}
