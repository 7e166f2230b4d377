#include "state/connections.h"

#include <unistd.h>

#include <fstream>
#include <set>
#include <utility>
#include <vector>

#include "state/ports.h"
#include "support/catch.h"
#include "support/forked.h"

using namespace nnd;
using namespace nnd::state;

namespace {

Connection& made(unsigned remote) {
  Connection& c = *open_connection(ConnectionKind::kSend, 11, {}, nullptr);
  ConnectionEnds ends;
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

TEST_CASE(
    "a connection takes three quarters of a page until more than twelve of its requests are in "
    "flight") {
  CHECK(test::holds_in_child([] {
    forget_connections();
    const auto resident = [] {
      std::ifstream in("/proc/self/statm");
      std::size_t size = 0, pages = 0;
      in >> size >> pages;
      return pages;
    };
    if (::sysconf(_SC_PAGESIZE) != 4096) return true;
    constexpr std::size_t kMany = 4096;
    std::vector<Connection*> all;
    all.reserve(kMany);
    const std::size_t before = resident();
    for (unsigned i = 0; i < kMany; ++i) all.push_back(&made(i));
    const std::size_t usual = resident() - before;
    std::set<Request*> taken;
    for (std::size_t i = 0; i < kRequestsPerConnection; ++i) {
      if (all[0]->free_requests == nullptr && !all[0]->extend_pool()) return false;
      taken.insert(std::exchange(all[0]->free_requests, all[0]->free_requests->next_free));
    }
    return usual < kMany * 4 / 5 && taken.size() == kRequestsPerConnection &&
           all[0]->free_requests == nullptr && !all[0]->extend_pool();
  }));
}

TEST_CASE("what a connection has beside the table is its own") {
  CHECK(test::holds_in_child([] {
    forget_connections();
    std::vector<Connection*> both{&made(1), &made(2)};
    std::set<const void*> places;
    for (Connection* c : both) {
      for (std::size_t i = 0; i < kTellableQps; ++i) {
        QpSummary told;
        told.num = static_cast<std::uint32_t>(c->id * 100 + i);
        c->qp(i).set(told);
      }
      while (c->extend_pool()) {
      }
      for (std::size_t i = 0; i < kRequestsPerConnection; ++i) {
        if (c->request(i).conn != c || !is_ours(&c->request(i))) return false;
        places.insert(&c->request(i));
      }
    }
    for (Connection* c : both)
      for (std::size_t i = 0; i < kTellableQps; ++i)
        if (QpSummary told; !c->qp(i).get(told) || told.num != c->id * 100 + i) return false;
    return places.size() == 2 * kRequestsPerConnection;
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
