// Sends that waited for their peer, and who let this process wait longest.
#include <numeric>

#include "context/raw_clock.h"
#include "state/connections.h"
#include "support/catch.h"

using namespace nnd;
using state::Connection;

namespace {

Connection& send_to(std::int32_t peer_rank) {
  Connection* const c = state::open_connection(state::ConnectionKind::kSend, 11, {}, nullptr);
  REQUIRE(c != nullptr);
  state::hand_out(*c, c);
  state::Labels labels;
  labels.peer_rank = peer_rank;
  c->labels.set(labels);
  return *c;
}

// For that many ticks.
void wait_for_peer(Connection& c, std::uint64_t ticks) {
  c.note_refused();
  const std::uint64_t since = c.refused_since;
  c.note_refused();
  CHECK(c.refused_since == since);
  c.end_peer_wait(since + ticks);
  CHECK(c.refused_since == 0);
}

}  // namespace

TEST_CASE("whose peer was waited for longest is told, closed or not") {
  context::raw_clock::g_ns_per_tick = std::uint64_t{1} << 32;  // a tick is a nanosecond
  Connection& quick = send_to(1);
  Connection& slow = send_to(2);
  constexpr std::uint64_t kTicks = 1'000'000;
  wait_for_peer(quick, kTicks);
  wait_for_peer(slow, 3 * kTicks);
  wait_for_peer(slow, 3 * kTicks);
  const std::uint32_t id = slow.id;
  const std::uint64_t waited = slow.peer_wait_ns;
  CHECK(waited > quick.peer_wait_ns);
  CHECK(std::accumulate(slow.peer_wait.begin(), slow.peer_wait.end(), std::uint64_t{0}) == 2);
  for (const bool closed : {false, true}) {
    if (closed) {
      state::release_connection(quick);
      state::release_connection(slow);
    }
    const auto ports = state::traffic_by_port();
    REQUIRE(ports.size() == 1);
    CHECK(ports[0].awaited.conn == id);
    CHECK(ports[0].awaited.ns == waited);
    CHECK(ports[0].awaited.peer_rank == 2);
  }
  Connection& next = send_to(3);
  CHECK(next.peer_wait_ns == 0);
  state::release_connection(next);
}
