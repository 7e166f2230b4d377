// Failures: which of them a connection or a call has, and what the log lists.
#include "state/failure.h"

#include <thread>

#include "state/connections.h"
#include "state/current.h"
#include "support/catch.h"
#include "support/forked.h"

using namespace nnd;
using diagnosis::Cause;
using diagnosis::Diagnosis;

namespace {

const Diagnosis kRail{Cause::kSubRail, "No way.", "Route."};
const Diagnosis kDied{Cause::kWc12, "No answer.", "Look."};

bool rail(const Diagnosis& diagnosis) { return diagnosis.cause == Cause::kSubRail; }

struct Fresh {
  Fresh() { state::forget_failures(); }
};

}  // namespace

TEST_CASE("a connection keeps its failure until it works again or is gone") {
  const Fresh fresh;
  CHECK_FALSE(state::failure_of(1));
  const auto failure = state::begin_failure({1, "mlx5_0:1", "10.0.0.2"}, kDied);
  REQUIRE(state::failure_of(1));
  CHECK(state::failure_of(1)->number == failure.number);
  CHECK(state::failure_of(1)->diagnosis.cause == Cause::kWc12);
  CHECK_FALSE(state::failure_of(2));
  CHECK_FALSE(state::failure_of(0));
  state::end_failure(1);
  CHECK_FALSE(state::failure_of(1));
  CHECK(state::begin_failure({1, "", ""}, kDied).number == failure.number + 1);
  state::forget_connection(1);
  CHECK_FALSE(state::failure_of(1));
}

TEST_CASE("a call has what failed inside it, on its own thread, until it ends") {
  const Fresh fresh;
  {
    const state::Scope scope(state::Call::kRegMr, {});
    const auto failure = state::begin_failure({}, kDied);
    REQUIRE(state::failure_of_call(0));
    CHECK(state::failure_of_call(0)->number == failure.number);
    bool elsewhere = true;
    std::thread([&] { elsewhere = state::failure_of_call(0).has_value(); }).join();
    CHECK_FALSE(elsewhere);
  }
  CHECK_FALSE(state::failure_of_call(0));
  // Outside of a call nobody would end it.
  state::begin_failure({}, kDied);
  CHECK_FALSE(state::failure_of_call(0));
}

TEST_CASE("what fails of a suspicion goes on with its number, and says what happened") {
  const Fresh fresh;
  const auto suspicion = state::begin_suspicion({3, "mlx5_1:1", "10.0.4.9"}, kRail);
  CHECK_FALSE(state::failure_of(3));
  CHECK_FALSE(state::suspicion_of(3, [](const Diagnosis&) { return false; }));
  REQUIRE(state::suspicion_of(3, rail));
  CHECK(state::suspicion_of(3, rail)->number == suspicion.number);
  CHECK_FALSE(state::suspicion_of(4, rail));
  Diagnosis happened = kRail;
  happened.sentence = "The QP could not be moved.";
  CHECK(state::begin_failure({3, "", ""}, happened, suspicion.number).number == suspicion.number);
  CHECK(state::failure_of(3)->diagnosis.sentence == happened.sentence);
  // A consequence later on does not take the first sentence away.
  state::begin_failure({3, "", ""}, kDied, suspicion.number);
  CHECK(state::failure_of(3)->diagnosis.sentence == happened.sentence);
}

TEST_CASE("listed is what events told of; a suspicion only when something followed from it") {
  const Fresh fresh;
  const auto idle = state::begin_suspicion({5, "", ""}, kRail);
  state::count_event(idle.number);
  const auto untold = state::begin_failure({6, "", ""}, kDied);
  const auto told = state::begin_failure({7, "mlx5_0:1", "10.0.0.2"}, kDied);
  state::count_event(told.number);
  state::count_event(told.number);
  state::count_event(told.number + 100);
  const auto list = state::list_failures(10);
  REQUIRE(list.first.size() == 1);
  CHECK(list.total == 1);
  CHECK(list.first[0].failure.number == told.number);
  CHECK(list.first[0].events == 2);
  CHECK(list.first[0].subject.conn == 7);
  CHECK(untold.number != told.number);
  state::adopt_failure(idle.number, 8);
  CHECK(state::failure_of(8)->number == idle.number);
  CHECK(state::list_failures(10).total == 2);
  CHECK(state::list_failures(1).first.size() == 1);
  CHECK(state::list_failures(1).total == 2);
}

TEST_CASE("a device that gave up is what its connections fail with") {
  const Fresh fresh;
  const Diagnosis dead{Cause::kAsyncFatal, "It died.", "Look."};
  const auto failure = state::begin_device_failure("mlx5_0", dead);
  REQUIRE(state::failure_of_device("mlx5_0"));
  CHECK(state::failure_of_device("mlx5_0")->number == failure.number);
  CHECK_FALSE(state::failure_of_device("mlx5_1"));
  CHECK_FALSE(state::failure_of_device(""));
}

TEST_CASE("what fails of what a port told of itself goes on with its number, and says of whom") {
  const Fresh fresh;
  const Diagnosis down{Cause::kAsyncPort, "It went down.", "Look."};
  const auto first = state::begin_port_suspicion("mlx5_0:1", down);
  state::count_event(first.number);
  const auto told = state::begin_port_suspicion("mlx5_0:1", down);
  state::count_event(told.number);
  CHECK(told.number != first.number);
  CHECK(state::suspicion_of_port("mlx5_0:1", Cause::kAsyncPort)->number == told.number);
  CHECK_FALSE(state::suspicion_of_port("mlx5_0:1", Cause::kGidChange));
  CHECK_FALSE(state::suspicion_of_port("mlx5_1:1", Cause::kAsyncPort));
  CHECK(state::list_failures(10).total == 0);
  for (const std::uint32_t conn : {3U, 4U})
    CHECK(state::begin_failure({conn, "mlx5_0:1", "10.0.0.9"}, down, told.number).number ==
          told.number);
  const auto list = state::list_failures(10);
  REQUIRE(list.first.size() == 1);
  CHECK(list.first[0].subject.conn == 3);
  CHECK(list.first[0].subject.peer == "10.0.0.9");
  // The next time is another failure; this one stays.
  CHECK(state::begin_port_suspicion("mlx5_0:1", down).number != told.number);
  CHECK(state::failure_of(4)->number == told.number);
}

// The last word of a port may come after the end of its requests.
TEST_CASE("what has just failed on a port as requests do is the port's, told before or after") {
  const Fresh fresh;
  const Diagnosis down{Cause::kAsyncPort, "It went down.", "Look."};
  const Diagnosis own{Cause::kWc2, "Its own request.", "Look."};
  const Diagnosis unlike{Cause::kMr14, "No memory.", "Look."};
  state::begin_failure({5, "mlx5_0:1", "10.0.0.9"}, unlike);
  const auto failed = state::begin_failure({3, "mlx5_0:1", "10.0.0.9"}, own);
  state::begin_failure({4, "mlx5_1:1", "10.0.0.9"}, own);
  const auto told = state::begin_port_suspicion("mlx5_0:1", down);
  CHECK(told.number != failed.number);
  CHECK(state::failure_of(3)->number == told.number);
  CHECK(state::failure_of(3)->diagnosis.cause == Cause::kAsyncPort);
  CHECK(state::failure_of(4)->diagnosis.cause == Cause::kWc2);
  CHECK(state::failure_of(5)->diagnosis.cause == Cause::kMr14);
  // The next time is another story.
  CHECK(state::begin_port_suspicion("mlx5_0:1", down).number != told.number);
  CHECK(state::failure_of(3)->number == told.number);
}

TEST_CASE("what is known of a pair is known of each of its connections, until something moves") {
  const Fresh fresh;
  const context::Gid here{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1};
  const context::Gid there{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 9};
  const auto connect = [&](std::uint32_t id, const context::Gid& peer) {
    state::Identity about;
    about.id = id;
    state::Connection* const c =
        state::open_connection(state::ConnectionKind::kSend, 10, about, nullptr);
    REQUIRE(c != nullptr);
    state::ConnectionEnds ends;
    ends.device = "mlx5_0";
    ends.port = 1;
    ends.gid = here;
    ends.remote_gid = peer;
    c->ends.set(ends);
    return c;
  };
  state::Connection* const broken = connect(11, there);
  state::Connection* const sibling = connect(12, there);
  state::Connection* const other = connect(13, here);
  const auto id = [](const state::Connection* c) { return c->id.load(); };
  const auto told =
      state::begin_suspicion({id(broken), "mlx5_0:1", "10.0.0.9", there}, kRail).number;
  REQUIRE(state::known_of_pair(*broken, rail));
  CHECK(state::known_of_pair(*broken, rail)->number == told);
  // So it is of another that is being made between these ports.
  REQUIRE(state::known_of_pair(*sibling, rail));
  CHECK(state::known_of_pair(*sibling, rail)->number == told);
  CHECK_FALSE(state::known_of_pair(*other, rail));
  // Of one that a peer has closed before it was known, by its port.
  state::Connection* const unknown = connect(14, context::Gid{});
  CHECK_FALSE(state::known_of_pair(*unknown, rail));
  REQUIRE(state::known_of_port(*unknown, rail));
  CHECK(state::known_of_port(*unknown, rail)->number == told);
  CHECK_FALSE(state::known_of_port(*other, rail));
  // Unless the two came together, whatever the rule says.
  state::came_together(*sibling);
  CHECK_FALSE(state::known_of_pair(*sibling, rail));
  CHECK_FALSE(state::known_of_port(*unknown, rail));
  CHECK(state::known_of_pair(*broken, rail));
  // Where data moved the ends fit together.
  broken->completed.store(1);
  CHECK_FALSE(state::known_of_pair(*broken, rail));
  for (state::Connection* const c : {broken, sibling, other, unknown})
    state::release_connection(*c);
}

TEST_CASE("what is kept is bounded") {
  const Fresh fresh;
  for (std::uint32_t i = 1; i <= 5000; ++i)
    state::count_event(state::begin_failure({i, "", ""}, kDied).number);
  CHECK(state::list_failures(0).total == 4096);
  CHECK(state::failure_of(5000));
  CHECK_FALSE(state::failure_of(1));
}

TEST_CASE("a forked child has failures of its own") {
  const Fresh fresh;
  const auto parents = state::begin_failure({1, "", ""}, kDied);
  CHECK(test::holds_in_child([&] {
    return !state::failure_of(1) && state::list_failures(10).total == 0 &&
           state::begin_failure({1, "", ""}, kDied).number > parents.number;
  }));
  CHECK(state::failure_of(1));
}

TEST_CASE("a failure is over when what failed works again, and nothing else failed with it") {
  const Fresh fresh;
  const auto failure = state::begin_failure({7, "mlx5_0:1", "10.0.1.9"}, kDied);
  state::count_event(failure.number);
  state::adopt_failure(failure.number, 8);
  const auto over = [] { return state::list_failures(1).first.at(0).over; };
  CHECK_FALSE(over());
  state::end_failure(7);
  CHECK_FALSE(over());
  state::end_failure(8);
  CHECK(over());
  state::adopt_failure(failure.number, 9);
  CHECK_FALSE(over());
}
