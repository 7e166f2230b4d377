#include "state/connections.h"

#include "state/ports.h"
#include "support/catch.h"
#include "support/forked.h"

using namespace nnd;
using namespace nnd::state;

namespace {

Connection& made(unsigned remote) {
  Connection& c = *open_connection(Kind::kSend, 11, {}, nullptr);
  Ends ends;
  ends.device = "mlx5_0";
  ends.port = 1;
  ends.gid_index = 3;
  ends.gid = {1};
  ends.remote_gid = {2, static_cast<std::uint8_t>(remote >> 8), static_cast<std::uint8_t>(remote)};
  c.ends.set(ends);
  hand_out(c, &c);
  return c;
}

}  // namespace

TEST_CASE("a counter that was set back makes no connection the slowest for good") {
  context::raw_clock::calibrate();
  while (context::raw_clock::to_ns(1'000'000) == 0) context::raw_clock::calibrate();
  CHECK(test::holds_in_child([] {
    forget_connections();
    Connection &usual = made(1), &stepped = made(2);
    const std::uint64_t now = context::raw_clock::now();
    for (int i = 0; i < 10; ++i) usual.count_done(now - 10'000'000, now, 1);
    stepped.count_done(now + 100'000'000'000, now, 1);  // by half a minute
    stepped.count_done(now - 1'000'000, now, 1);
    stepped.refused_since.store(now + 100'000'000'000);
    stepped.end_peer_wait(now);
    const auto ports = traffic_by_port();
    return ports.size() == 1 && ports[0].slowest.conn == usual.id.load() &&
           stepped.peer_wait_ns.load() == 0;
  }));
}

TEST_CASE("who uses a port, each peer once") {
  CHECK(test::holds_in_child([] {
    forget_connections();
    constexpr unsigned kPeers = 1000;
    for (unsigned i = 0; i < 3 * kPeers; ++i) made(i % kPeers);
    const PortUsers users = users_of("mlx5_0", 1);
    return users.connections == 3 * kPeers && users.peers.size() == kPeers &&
           users.sources.size() == 1;
  }));
}
