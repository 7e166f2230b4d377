// The events conn.stall, conn.resume and conn.who.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "facts/tcp.h"
#include "state/failure.h"
#include "watch/judge.h"
#include "watch/slow_sends.h"

namespace nnd::watch {

// How many connections of this process wait for what.
struct Census {
  std::array<std::uint64_t, static_cast<std::size_t>(Wait::kCount)> waiting{};
  std::uint64_t moving = 0;
};

// "mlx5_0:1": the port that a connection uses, or the device that NCCL asked for.
std::string place_of(const state::Connection& c);
// "10.0.1.9"; empty: not known.
std::string peer_of(const state::Connection& c);

// Whose it is, once that is known; false: not yet.
bool tell_who(const state::Connection& c);

// What is known of why a connection waits: it failed, or its two ends don't come together.
std::optional<state::Failure> known_of(const state::Connection& c, Wait wait);

struct StallLine {
  Wait wait = Wait::kIdle;
  std::uint64_t age_ns = 0;
  std::uint64_t connections = 1, peers = 1;
  std::uint32_t failure = 0;
  bool after_failure = false;  // another connection has failed before
  bool lasts = false;          // three times its age, and no other connection came about meanwhile
};
// Whether it was a warning. The table is read where it is needed and wasn't.
bool tell_conn_stall(state::Connection& oldest, const StallLine& line, const Census& census,
                     std::optional<facts::TcpTable>& tcp);
// age_ns: for how long at least.
void tell_slow(state::Connection& c, const SlowSendDetector::Slow& slow, std::uint64_t age_ns,
               const Census& census);
void tell_idle(std::uint64_t age_ns, const Census& census);
void tell_resume(const state::Connection* c, Wait wait, std::uint64_t connections,
                 std::uint64_t waited_ns);

}  // namespace nnd::watch
