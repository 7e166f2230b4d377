// What waits for too long: one look at all connections a period, one line for all that wait alike,
// and what it came to for the summary. Thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "context/fork_mutex.h"
#include "facts/tcp.h"
#include "watch/judge.h"
#include "watch/slow_sends.h"
#include "watch/whom.h"

namespace nnd::watch {

// How long something may wait before it is told.
struct Ages {
  std::uint64_t connect_ns = 5'000'000'000;
  std::uint64_t stall_ns = 10'000'000'000;

  std::uint64_t of(Wait wait) const {
    // That the network isn't used is told late: a program may compute.
    return diagnosis::being_made(wait) ? connect_ns : wait == Wait::kIdle ? 6 * stall_ns : stall_ns;
  }
  // Between two looks: what is too old is told within one.
  std::uint64_t period_ns() const;
};

// Connections that wait alike: one line tells of them all.
struct ClassKey {
  Wait wait = Wait::kIdle;
  bool sends = false;
  std::string place;          // "mlx5_0:1"
  std::uint32_t failure = 0;  // that they are in; 0: none

  bool operator<(const ClassKey& other) const {
    return std::tie(wait, sends, place, failure) <
           std::tie(other.wait, other.sends, other.place, other.failure);
  }
};

// All waits of a kind so far.
struct Total {
  std::uint64_t connections = 0;
  std::uint64_t longest_ns = 0;
  std::string place, peer;  // of the longest
  bool warned = false;      // of one
};
using Totals = std::array<Total, static_cast<std::size_t>(Wait::kCount)>;

class Watch {
 public:
  explicit Watch(Ages ages);

  // mono_ns: CLOCK_MONOTONIC.
  void look(std::uint64_t mono_ns);
  // What the last look found.
  void tell();
  Totals totals();
  // What the last look showed of it, for its peers; where there are any.
  const std::optional<peers::LocalView>& own() const { return own_; }
  // In a forked child: what was seen is the parent's.
  void forget();

 private:
  struct Member {
    state::Connection* connection = nullptr;
    WaitHistory* history = nullptr;
    std::uint64_t age_ns = 0;
  };
  struct Class {
    unsigned told = 0;          // lines
    std::uint64_t seen_ns = 0;  // when it last had a member
    Member oldest;
    std::vector<Member> members;
  };
  struct Resumed {
    state::Connection* oldest = nullptr;
    std::uint64_t connections = 0, waited_ns = 0;
  };

  std::uint64_t advance(std::uint64_t mono_ns);
  void look_at(state::Connection& c, WaitHistory& history, std::uint64_t now_ns);
  void note_asked(state::Connection& c, WaitHistory& history, std::uint64_t age_ns);
  Wait closer(state::Connection& c, WaitHistory& history, std::uint64_t age_ns);
  void take(state::Connection& c, WaitHistory& history, std::uint64_t age_ns);
  void look_at_process(std::uint64_t now_ns);
  void look_at_pace(std::uint64_t now_ns);
  void tell_old();
  void tell_resumed();

  const Ages ages_;
  context::ForkMutex mutex_;
  std::uint64_t now_ns_ = 0;  // the watch's own time, which stands still while the process does
  std::uint64_t last_mono_ns_ = 0;
  std::vector<WaitHistory> histories_;  // by place in the table
  std::map<ClassKey, Class> classes_;
  std::map<ClassKey, Resumed> resumed_;
  std::array<std::uint64_t, static_cast<std::size_t>(Wait::kCount)> waiting_{};  // of this look
  std::uint64_t moving_ = 0;
  std::uint64_t last_move_ns_ = 0;   // of any connection
  std::uint64_t idle_since_ns_ = 0;  // the process
  std::uint64_t last_ready_ns_ = 0;  // a connection came about
  unsigned idle_told_ = 0;
  bool any_failed_ = false;
  bool needs_counters_ = false;
  std::uint64_t counters_at_ns_ = 0;    // last asked for
  std::optional<facts::TcpTable> tcp_;  // read at most once a look
  WaitCollector collector_;
  std::optional<peers::LocalView> own_;
  SlowSendDetector slow_sends_;
  std::uint64_t paced_ns_ = 0;  // when the last window ended
  Totals totals_;
};

}  // namespace nnd::watch
