// For whom this process waits, put together in one look at all connections, for its peers
// (peers/engine.h).
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "peers/channel.h"
#include "peers/engine.h"
#include "state/connection.h"
#include "watch/judge.h"

namespace nnd::watch {

// What failed in it and is not over, as it is now. mono_ns: CLOCK_MONOTONIC. One thread.
void add_failure(peers::LocalView& own, std::uint64_t mono_ns);

// This process, as far as it is known before it has a communicator, and its job.
peers::ChannelSetup this_process();

class WaitCollector {
 public:
  // How old a wait is at least; how much that of a connection that is being made counts.
  WaitCollector(std::uint64_t edge_ns, double made_weight)
      : edge_ns_(edge_ns), made_weight_(made_weight) {}

  void begin();
  // asked: NCCL still asks for what it waits for.
  void take(state::Connection& c, const WaitHistory& history, std::uint64_t age_ns, bool asked);
  void note_motion() { moves_ = true; }
  void note_work() { worked_ = true; }
  // mono_ns: CLOCK_MONOTONIC.
  peers::LocalView end(std::uint64_t mono_ns);
  void forget();

 private:
  void take_quiet(state::Connection& c, std::uint64_t age_ns);
  bool rests(const peers::LocalView& own, std::uint64_t mono_ns);

  // When the last of something was, by the CPU's counter and by CLOCK_MONOTONIC.
  struct Latest {
    std::uint64_t raw = 0, mono_ns = 0;
    void note(std::uint64_t when_raw) noexcept;
  };

  const std::uint64_t edge_ns_;
  const double made_weight_;
  bool asked_ = false;  // by others
  bool moves_ = false;
  bool worked_ = false;
  std::uint64_t moved_ns_ = 0;
  std::uint64_t meets_ns_ = 0;  // its bootstrap has waited since then; 0: it does not
  std::uint64_t waits_ns_ = 0;
  std::map<std::uint64_t, peers::LocalView::Edge> edges_, relayed_;
  std::map<std::uint64_t, std::vector<peers::Link>> quiet_;
  std::set<std::string> ports_;  // that waits go over: "mlx5_0:1"
  Latest posted_, posted_receive_;
  std::set<std::uint32_t> posters_;  // ids of threads, while others ask
  std::uint64_t rested_ns_ = 0;      // since when these sleep; 0: they do not
};

}  // namespace nnd::watch
