#include "report/waits.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>

namespace nnd::report {

namespace {

constexpr std::array<std::string_view, 5> kNetworkKinds{"tcp", "modify-qp", "in-call", "stuck-send",
                                                        "stuck-flush"};
constexpr std::array<std::string_view, 7> kPeerKinds{
    "not-accepted", "not-dialled", "metadata", "qps", "ready", "nothing-came", "no-receive"};
constexpr Ns kTogetherNs = 1'000'000'000;
constexpr Ns kStoppedNs = 5'000'000'000;  // the drain looks ten times a second
constexpr Ns kSurelyStoppedNs = 30'000'000'000;

template <std::size_t kSize>
bool is_one_of(const std::string& kind, const std::array<std::string_view, kSize>& kinds) {
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

// A connection that was closed with nothing in flight waited for nothing in the end, whatever was
// told of it before.
bool over(const log::Process& process, const log::Stall& stall) {
  if (stall.ended_ns) return true;
  if (!stall.told.conn) return false;
  const auto found = process.connections.find(*stall.told.conn);
  if (found == process.connections.end()) return false;
  const auto& connection = found->second;
  return connection.closed && connection.in_flight.value_or(0) == 0 && connection.ready_ns != 0;
}

Wait wait_of(const Picture& picture, std::size_t member, const log::Stall& stall) {
  Wait out;
  out.member = member;
  out.stall = &stall;
  out.since = picture.at(member, stall.told.mono_ns) - static_cast<Ns>(stall.age_us * 1000);
  out.peer = picture.peer_of(member, stall.told.peer, stall.told.conn, stall.link);
  if (!out.peer && !stall.comm.empty() && stall.told.peer.rank)
    if (const auto found = picture.by_comm_rank.find({stall.comm, *stall.told.peer.rank});
        found != picture.by_comm_rank.end() && found->second != member)
      out.peer = found->second;
  out.here = picture.place_of(member, stall.told.dev);
  out.there = picture.peer_place(member, stall.told.peer, stall.told.conn);
  return out;
}

bool is_stopped(const Member& member) { return member.silent > kStoppedNs; }

// A node that hangs acknowledges nothing: what is sent to a process that does not run is no
// evidence of the network.
bool is_network(const Picture& picture, const Wait& wait) {
  const bool unanswered =
      wait.stall->kind == "stuck-send" && wait.peer && is_stopped(picture.members[*wait.peer]);
  return blames_network(wait.stall->kind) && !unanswered;
}

class Graph {
 public:
  Graph(const Picture& picture, const std::vector<Wait>& waits) : picture_(picture) {
    for (const auto& wait : waits) {
      if (is_network(picture, wait)) {
        on_network_.insert(wait.member);
        continue;
      }
      if (wait.stall->kind == "idle") {
        idle_.emplace(wait.member, wait.since);
        continue;
      }
      if (!is_one_of(wait.stall->kind, kPeerKinds) && !blames_network(wait.stall->kind)) continue;
      waiting_.insert(wait.member);
      if (wait.peer)
        next_[wait.member].insert(*wait.peer);
      else if (!wait.stall->told.peer.gid.empty())
        add_stranger(wait);
    }
  }

  std::vector<Sink> sinks() {
    std::map<std::size_t, std::vector<std::size_t>> waiters;
    for (const auto& [member, others] : next_)
      for (const auto other : others) waiters[other].push_back(member);
    std::set<std::size_t> endless = waiting_;  // whose chains end nowhere
    std::erase_if(endless, [&](std::size_t member) { return !next_.contains(member); });
    std::vector<Sink> out;
    for (const auto& [member, by] : waiters) {
      if (!is_end(member)) continue;
      Sink sink = sink_of(member);
      for (const auto waiting : waiting_for(member, waiters)) {
        ++sink.waiting;
        endless.erase(waiting);
      }
      out.push_back(std::move(sink));
    }
    for (const auto& [address, stranger] : strangers_) {
      Sink sink;
      sink.kind = Sink::Kind::kNoLog;
      sink.address = address;
      sink.rank = stranger.rank;
      sink.waiting = stranger.waiting.size();
      out.push_back(std::move(sink));
    }
    // What processes of one node wait for in each other is not seen here: only where nothing else
    // explains them do they wait for each other.
    if (const auto cycle = cycle_of(endless); cycle.size() > 1 && out.empty()) {
      Sink sink;
      sink.kind = Sink::Kind::kCycle;
      sink.members.assign(cycle.begin(), cycle.end());
      sink.waiting = endless.size();
      out.push_back(std::move(sink));
    }
    std::stable_sort(out.begin(), out.end(), [](const Sink& a, const Sink& b) {
      return std::pair(certainty(a.kind), a.waiting) > std::pair(certainty(b.kind), b.waiting);
    });
    return out;
  }

 private:
  // A process at an address that no log is of.
  struct Stranger {
    std::set<std::size_t> waiting;
    std::optional<int> rank;
  };
  void add_stranger(const Wait& wait) {
    auto& stranger = strangers_[wait.stall->told.peer.gid];
    stranger.waiting.insert(wait.member);
    stranger.rank = wait.stall->told.peer.rank;
  }

  // What is known of a process counts more than how many point at it.
  static int certainty(Sink::Kind kind) {
    switch (kind) {
      case Sink::Kind::kDied:
      case Sink::Kind::kStopped:
        return 4;
      case Sink::Kind::kNetwork:
      case Sink::Kind::kIdle:
      case Sink::Kind::kLeft:
        return 3;
      case Sink::Kind::kNoLog:
        return 2;
      case Sink::Kind::kSilent:
        return 1;
      case Sink::Kind::kCycle:
      case Sink::Kind::kBehind:
      case Sink::Kind::kMismatched:
        break;
    }
    return 0;
  }

  // Without those that only wait for one in it.
  std::set<std::size_t> cycle_of(std::set<std::size_t> left) const {
    std::map<std::size_t, std::size_t> waiters;
    for (const auto member : left)
      for (const auto other : next_.at(member)) ++waiters[other];
    std::vector<std::size_t> unwanted;
    for (const auto member : left)
      if (!waiters.contains(member)) unwanted.push_back(member);
    while (!unwanted.empty()) {
      const auto member = unwanted.back();
      unwanted.pop_back();
      left.erase(member);
      for (const auto other : next_.at(member))
        if (--waiters[other] == 0 && left.contains(other)) unwanted.push_back(other);
    }
    return left;
  }

  bool is_end(std::size_t member) const {
    return !next_.contains(member) || on_network_.contains(member) || idle_.contains(member) ||
           gone(member) || stopped(member);
  }
  // Not with all the others, when somebody ended the job.
  bool gone(std::size_t member) const {
    const Member& one = picture_.members[member];
    return (one.ending == Ending::kDied || one.ending == Ending::kClean) &&
           one.last + kTogetherNs < picture_.last;
  }
  bool stopped(std::size_t member) const { return is_stopped(picture_.members[member]); }

  // Directly, or through others that only wait.
  std::set<std::size_t> waiting_for(
      std::size_t end, const std::map<std::size_t, std::vector<std::size_t>>& waiters) const {
    std::set<std::size_t> out;
    std::vector<std::size_t> open{end};
    while (!open.empty()) {
      const auto at = open.back();
      open.pop_back();
      const auto found = waiters.find(at);
      if (found == waiters.end()) continue;
      for (const auto waiting : found->second)
        if (waiting != end && waiting_.contains(waiting) && out.insert(waiting).second &&
            !is_end(waiting))
          open.push_back(waiting);
    }
    return out;
  }

  Sink sink_of(std::size_t member) const {
    const Member& one = picture_.members[member];
    Sink sink;
    sink.members = {member};
    sink.since = one.last;
    if (gone(member)) {
      sink.kind = one.ending == Ending::kDied ? Sink::Kind::kDied : Sink::Kind::kLeft;
    } else if (on_network_.contains(member)) {
      sink.kind = Sink::Kind::kNetwork;
    } else if (stopped(member)) {
      sink.kind = Sink::Kind::kStopped;
    } else if (const auto idle = idle_.find(member); idle != idle_.end()) {
      sink.kind = Sink::Kind::kIdle;
      sink.since = idle->second;
    }
    return sink;
  }

  const Picture& picture_;
  std::set<std::size_t> waiting_, on_network_;
  std::map<std::size_t, Ns> idle_;  // since when
  std::map<std::size_t, std::set<std::size_t>> next_;
  std::map<std::string, Stranger> strangers_;
};

bool is_sure(const Sink& sink) {
  return sink.kind == Sink::Kind::kDied || sink.kind == Sink::Kind::kStopped;
}

// Inside a node processes wait for each other without the network, where no chain shows it: who is
// behind in the collectives goes before who is at the end of a chain.
void add_apart(Waits& waits) {
  if (waits.apart.empty() || (!waits.sinks.empty() && is_sure(waits.sinks.front()))) return;
  const Apart& apart = waits.apart.front();
  const auto is_guilty = [&](const Sink& sink) {
    return apart.kind == Apart::Kind::kBehind && sink.kind == Sink::Kind::kIdle &&
           std::find(apart.others.members.begin(), apart.others.members.end(),
                     sink.members.front()) != apart.others.members.end();
  };
  const auto rest = std::stable_partition(waits.sinks.begin(), waits.sinks.end(), is_guilty);
  for (auto sink = waits.sinks.begin(); sink != rest; ++sink) sink->apart = 0;
  if (rest != waits.sinks.begin()) return;
  Sink sink;
  sink.kind = apart.kind == Apart::Kind::kBehind ? Sink::Kind::kBehind : Sink::Kind::kMismatched;
  sink.members = apart.others.members;
  sink.since = waits.waits.front().since;
  sink.waiting = apart.inside;
  sink.apart = 0;
  waits.sinks.insert(waits.sinks.begin(), std::move(sink));
}

// Before the first connection the others wait where the plugin sees nothing: who is silent for long
// is told though nobody says that he waits.
void add_stopped(const Picture& picture, std::vector<Sink>& sinks) {
  Sink sink;
  sink.kind = Sink::Kind::kStopped;
  for (std::size_t i = 0; i < picture.members.size(); ++i)
    if (const Member& one = picture.members[i]; one.silent > kSurelyStoppedNs) {
      sink.since = sink.members.empty() ? one.last : std::min(sink.since, one.last);
      sink.members.push_back(i);
    }
  if (!sink.members.empty()) sinks.push_back(std::move(sink));
}

void by_time(std::vector<Wait>& waits) {
  std::stable_sort(waits.begin(), waits.end(),
                   [](const Wait& a, const Wait& b) { return a.since < b.since; });
}

}  // namespace

bool blames_network(const std::string& kind) { return is_one_of(kind, kNetworkKinds); }

Waits waits_of(const Picture& picture) {
  Waits out;
  for (std::size_t i = 0; i < picture.members.size(); ++i)
    for (const auto& stall : picture.members[i].log->stalls) {
      if (stall.kind == "slow") continue;
      const Wait wait = wait_of(picture, i, stall);
      const bool network = is_network(picture, wait);
      const bool ended = over(*picture.members[i].log, stall);
      if (ended && !(network && stall.told.severity != log::Severity::kInfo)) continue;
      if (ended)
        out.passed.push_back(wait);
      else
        out.waits.push_back(wait);
      if (!ended && network) out.network.push_back(wait);
    }
  // A process that is done and asks for nothing any more is no wait.
  const bool anybody = std::any_of(out.waits.begin(), out.waits.end(),
                                   [](const Wait& wait) { return wait.stall->kind != "idle"; });
  if (!anybody) out.waits.clear();
  by_time(out.waits);
  by_time(out.network);
  by_time(out.passed);
  out.sinks = Graph(picture, out.waits).sinks();
  if (out.waits.empty()) {
    add_stopped(picture, out.sinks);
    return out;
  }
  out.apart = apart_in_collectives(picture);
  add_apart(out);
  return out;
}

}  // namespace nnd::report
