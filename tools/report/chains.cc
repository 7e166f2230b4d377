#include "report/chains.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "report/collectives.h"
#include "report/idle.h"

namespace nnd::report {

namespace {

constexpr Ns kOneMoment = 1'000'000'000;
constexpr Ns kStopped = 5'000'000'000;  // the drain looks ten times a second
constexpr Ns kSurelyStopped = 30'000'000'000;

class Graph {
 public:
  Graph(const Picture& picture, const std::vector<Wait>& open,
        const std::vector<const Wait*>& stuck, const std::vector<End>& ends)
      : picture_(picture), ends_(ends) {
    for (const auto* wait : stuck) on_network_.insert(wait->member);
    const std::set<const Wait*> network(stuck.begin(), stuck.end());
    for (const auto& wait : open) {
      if (network.contains(&wait)) continue;
      if (wait.is_for_nobody()) {
        add_idle(wait);
        continue;
      }
      if (!wait.waiter) continue;  // not the process that carries it
      if (!is_for_peer(wait.stall->kind) && !wait.blames_network()) continue;
      waiting_.insert(wait.who());
      if (wait.peer) {
        next_[wait.who()].insert(*wait.peer);
        auto& told = first_told_.try_emplace(*wait.peer, wait.told_at).first->second;
        told = std::min(told, wait.told_at);
        auto& needed = needed_.try_emplace(*wait.peer, wait.since).first->second;
        needed = std::min(needed, wait.since);
      }
      if (!wait.peer && !wait.stall->told.peer.gid.empty()) add_stranger(wait);
    }
    add_waits_by_collectives();
    for (const auto& [member, others] : next_) {
      for (const auto other : others) waiters_[other].push_back(member);
      if (ends_[member].ended())
        first_to_go_ =
            std::min(first_to_go_.value_or(ends_[member].when.from), ends_[member].when.from);
    }
  }

  Chains chains() {
    std::set<std::size_t> endless = waiting_;  // whose chains end nowhere
    std::erase_if(endless, [&](std::size_t member) { return !next_.contains(member); });
    for (const auto& [member, by] : waiters_)
      if (is_end(member) && !makes_communicator(member))
        add_end(with_neighbours(sink_of(member)), waiting_for(member), endless);
    for (const auto& [address, stranger] : strangers_) {
      Sink sink;
      sink.kind = Sink::Kind::kNoLog;
      sink.address = address;
      sink.rank = stranger.rank;
      add(std::move(sink), stranger.waiting, endless);
    }
    // What processes of one node wait for in each other is not seen here: only where nothing else
    // explains them do they wait for each other.
    if (const auto cycle = cycle_of(endless); cycle.size() > 1 && found_.empty()) {
      Sink sink;
      sink.kind = Sink::Kind::kCycle;
      sink.members.assign(cycle.begin(), cycle.end());
      const auto all = endless;
      add(std::move(sink), all, endless);
    }
    weigh_idle();
    join_silent();
    return in_order();
  }

 private:
  struct Found {
    Sink sink;
    std::set<std::size_t> waiting;
    // Inside its node, for one that waits for another sink, or for a process without a log.
    bool may_wait = false, may_wait_for_stranger = false;
  };
  // Who asks the network for nothing, and waits inside of its node.
  void add_waits_by_collectives() {
    for (const auto& [member, others] : waits_by_collectives(picture_)) {
      if (waiting_.contains(member) || !needed_.contains(member)) continue;
      waiting_.insert(member);
      idle_.erase(member);
      for (const auto other : others) {
        next_[member].insert(other);
        first_told_.try_emplace(other, first_told_.at(member));
        needed_.try_emplace(other, needed_.at(member));
      }
    }
  }
  void add_idle(const Wait& wait) {
    const bool unasked = wait.stall->kind == "not-asked";
    // After a failure NCCL asks for nothing more: that says no more than the failure.
    if (unasked && tells_of_failure(*picture_.members[wait.member].log)) return;
    const auto found = idle_.try_emplace(wait.member, wait.since).first;
    found->second = std::min(found->second, wait.since);
    if (unasked) unasked_.insert(wait.member);
  }

  // A process at an address that no log is of.
  struct Stranger {
    std::set<std::size_t> waiting;
    std::optional<int> rank;
  };
  void add_stranger(const Wait& wait) {
    auto& stranger = strangers_[wait.stall->told.peer.gid];
    stranger.waiting.insert(wait.who());
    stranger.rank = wait.stall->told.peer.rank;
  }

  void add(Sink sink, std::set<std::size_t> waiting, std::set<std::size_t>& endless) {
    sink.waiting = waiting.size();
    for (const auto member : waiting) endless.erase(member);
    found_.push_back({std::move(sink), std::move(waiting)});
  }

  // Neighbours of whom one is late are one end.
  void add_end(Sink sink, std::set<std::size_t> waiting, std::set<std::size_t>& endless) {
    const auto same = std::find_if(found_.begin(), found_.end(), [&](const Found& one) {
      return sink.members.size() > 1 && one.sink.members == sink.members;
    });
    if (same == found_.end()) return add(std::move(sink), std::move(waiting), endless);
    for (const auto member : waiting) endless.erase(member);
    same->waiting.merge(waiting);
    same->sink.waiting = same->waiting.size();
    same->sink.needed = std::min(same->sink.needed, sink.needed);
  }

  // Who asks the network for nothing may wait for a neighbour that waits for another node. Where
  // that is so of all, which of their nodes is late isn't known.
  void weigh_idle() {
    std::vector<Found*> idle;
    for (auto& one : found_)
      if (one.sink.kind == Sink::Kind::kIdle) idle.push_back(&one);
    std::set<std::size_t> waiting;  // hosts that have somebody who waits for one of another host
    for (const auto* one : idle)
      for (const auto member : one->waiting)
        if (picture_.members[member].host != host_of(*one))
          waiting.insert(picture_.members[member].host);
    std::set<std::size_t> for_strangers;
    for (const auto& one : found_)
      if (one.sink.kind == Sink::Kind::kNoLog)
        for (const auto member : one.waiting) for_strangers.insert(picture_.members[member].host);
    for (auto* one : idle) {
      if (one->sink.unasked) continue;  // it gave up what it had begun
      one->may_wait = waiting.contains(host_of(*one));
      one->may_wait_for_stranger = for_strangers.contains(host_of(*one));
    }
    if (idle.size() < 2 ||
        !std::all_of(idle.begin(), idle.end(), [](const Found* one) { return one->may_wait; }))
      return;
    Found all = std::move(*idle.front());
    for (std::size_t i = 1; i < idle.size(); ++i) join(all, std::move(*idle[i]));
    std::erase_if(found_, [](const Found& one) { return one.sink.kind == Sink::Kind::kIdle; });
    found_.push_back(std::move(all));
  }
  static void join(Found& all, Found one) {
    Sink& sink = all.sink;
    sink.members.insert(sink.members.end(), one.sink.members.begin(), one.sink.members.end());
    std::sort(sink.members.begin(), sink.members.end());
    sink.since = std::min(sink.since, one.sink.since);
    sink.needed = std::min(sink.needed, one.sink.needed);
    all.waiting.merge(one.waiting);
    sink.waiting = all.waiting.size();
  }
  // Of several of one node that say nothing one is late, or waits for one that is.
  void join_silent() {
    std::map<std::size_t, Found> by_host;
    for (auto& one : found_) {
      if (one.sink.kind != Sink::Kind::kSilent) continue;
      if (const auto [all, is_first] = by_host.try_emplace(host_of(one), one); !is_first)
        join(all->second, one);
    }
    std::erase_if(found_, [](const Found& one) { return one.sink.kind == Sink::Kind::kSilent; });
    for (auto& [host, all] : by_host) found_.push_back(std::move(all));
  }
  std::size_t host_of(const Found& one) const {
    return picture_.members[one.sink.members.front()].host;
  }

  Chains in_order() {
    const auto weight = [](const Found& one) {
      return std::tuple(one.may_wait_for_stranger ? kUnsure : certainty(one.sink.kind),
                        !one.may_wait, one.sink.waiting);
    };
    std::stable_sort(found_.begin(), found_.end(),
                     [&](const Found& a, const Found& b) { return weight(a) > weight(b); });
    Chains out;
    out.by.resize(picture_.members.size());
    for (auto& found : found_) {
      for (const auto member : found.waiting)
        if (!out.by[member]) out.by[member] = out.sinks.size();
      out.sinks.push_back(std::move(found.sink));
    }
    return out;
  }

  // What is known of a process counts more than how many point at it.
  static constexpr int kUnsure = 2;
  static int certainty(Sink::Kind kind) {
    switch (kind) {
      case Sink::Kind::kDied:
      case Sink::Kind::kStopped:
        return 5;
      case Sink::Kind::kNetwork:
      case Sink::Kind::kIdle:
      case Sink::Kind::kLeft:
        return 4;
      case Sink::Kind::kNoLog:
        return 3;
      case Sink::Kind::kSilent:
        return 1;
      case Sink::Kind::kCycle:
      case Sink::Kind::kBehind:
      case Sink::Kind::kMismatched:
      case Sink::Kind::kNotCome:
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

  // It waits for ranks to come, where no chain shows it.
  bool makes_communicator(std::size_t member) const {
    return picture_.members[member].log->making && !stopped(member) &&
           !on_network_.contains(member);
  }
  bool is_end(std::size_t member) const {
    return !next_.contains(member) || on_network_.contains(member) || idle_.contains(member) ||
           stopped(member);
  }
  // Not with all the others, when somebody ended the job, and not after those that waited for it
  // had gone, or had told that they wait: these had no reason in its end. Nor who waited himself.
  bool gone(std::size_t member) const {
    const End& end = ends_[member];
    if (!end.ended() || end.waited || end.when.from + kOneMoment >= picture_.last) return false;
    if (first_to_go_ && *first_to_go_ < end.when.from) return false;
    const auto told = first_told_.find(member);
    return told == first_told_.end() || end.when.from <= told->second + kOneMoment;
  }
  // Those that waited for it went much later, or not at all.
  bool gone_long_before_others(std::size_t member) const {
    return gone(member) && (!first_to_go_ || ends_[member].when.to + kLivedOn < *first_to_go_);
  }
  bool stopped(std::size_t member) const { return is_stopped(picture_.members[member]); }

  // Directly, or through others that only wait.
  std::set<std::size_t> waiting_for(std::size_t end) const {
    std::set<std::size_t> out;
    std::vector<std::size_t> open{end};
    while (!open.empty()) {
      const auto at = open.back();
      open.pop_back();
      const auto found = waiters_.find(at);
      if (found == waiters_.end()) continue;
      for (const auto waiting : found->second)
        if (waiting != end && waiting_.contains(waiting) && out.insert(waiting).second &&
            !is_end(waiting))
          open.push_back(waiting);
    }
    return out;
  }

  Sink::Kind gone_kind(std::size_t member) const {
    return ends_[member].kind == End::Kind::kDied ? Sink::Kind::kDied : Sink::Kind::kLeft;
  }
  Sink named(std::size_t member) const {
    Sink sink;
    sink.members = {member};
    sink.since = picture_.members[member].last;
    sink.needed = needed_.at(member);
    return sink;
  }
  Sink sink_of(std::size_t member) const {
    Sink sink = named(member);
    const auto idle = idle_.find(member);
    if (!stopped(member) && gone(member) &&
        (idle == idle_.end() || gone_long_before_others(member))) {
      sink.kind = gone_kind(member);
    } else if (on_network_.contains(member)) {
      sink.kind = Sink::Kind::kNetwork;
    } else if (stopped(member)) {
      sink.kind = Sink::Kind::kStopped;
    } else if (idle != idle_.end()) {
      sink.kind = Sink::Kind::kIdle;
      sink.since = idle->second;
      sink.unasked = unasked_.contains(member);
    } else if (const auto since = idle_by_box(picture_, member)) {
      sink.kind = Sink::Kind::kIdle;
      sink.since = *since;
    } else if (was_done_and_lived_on(member, sink.needed)) {
      sink.kind = Sink::Kind::kIdle;
      sink.since = sink.needed;
      sink.by_last_words = true;
    }
    return sink;
  }
  // Its last words: nothing was under way, seconds after that. Who then failed was at something
  // else, and that says more.
  bool was_done_and_lived_on(std::size_t member, Ns since) const {
    const log::Process& log = *picture_.members[member].log;
    return log.summary && log.summary->pending == 0 && !is_failed_exit(log) &&
           since + kLivedOn < picture_.members[member].last;
  }
  // What processes of one node wait for in each other is not seen: of several there that ask the
  // network for nothing, one is late, and nobody can tell which.
  Sink with_neighbours(Sink sink) const {
    if (sink.kind != Sink::Kind::kIdle || sink.unasked) return sink;
    const auto& host = picture_.host_of(sink.members.front());
    for (const auto other : host.members) {
      if (other == sink.members.front() || waiting_.contains(other)) continue;
      const auto told = idle_.find(other);
      auto since = told != idle_.end() ? std::optional(told->second) : idle_by_box(picture_, other);
      if (!since && was_done_and_lived_on(other, sink.needed)) since = sink.needed;
      if (!since) continue;
      sink.members.push_back(other);
      sink.since = std::min(sink.since, *since);
    }
    std::sort(sink.members.begin(), sink.members.end());
    if (const auto late = behind_its_neighbours(picture_, sink.members)) sink.members = {*late};
    return sink;
  }

  const Picture& picture_;
  const std::vector<End>& ends_;
  std::set<std::size_t> waiting_, on_network_;
  std::map<std::size_t, Ns> idle_;  // since when
  std::set<std::size_t> unasked_;   // of these
  std::map<std::size_t, std::set<std::size_t>> next_;
  std::map<std::size_t, std::vector<std::size_t>> waiters_;
  // By who is waited for: when that was told first, and since when the first waits.
  std::map<std::size_t, Ns> first_told_, needed_;
  std::map<std::string, Stranger> strangers_;
  std::optional<Ns> first_to_go_;  // of those that wait
  std::vector<Found> found_;
};

// Before the first connection the others wait where the plugin may see nothing: who is silent for
// long is told though nobody says that he waits.
void add_stopped(const Picture& picture, std::vector<Sink>& sinks) {
  const bool waited_for =
      std::any_of(picture.members.begin(), picture.members.end(),
                  [](const Member& one) { return one.log->making.has_value(); });
  Sink sink;
  sink.kind = Sink::Kind::kStopped;
  for (std::size_t i = 0; i < picture.members.size(); ++i)
    if (const Member& one = picture.members[i];
        waited_for ? is_stopped(one) : is_surely_stopped(one)) {
      sink.since = sink.members.empty() ? one.last : std::min(sink.since, one.last);
      sink.members.push_back(i);
    }
  if (!sink.members.empty()) sinks.push_back(std::move(sink));
}

// Where all others have last words, and the log of one just ends before they began to wait.
std::optional<std::size_t> only_without_last_words(const Picture& picture,
                                                   const std::vector<Wait>& open) {
  std::optional<std::size_t> out;
  for (std::size_t i = 0; i < picture.members.size(); ++i) {
    const Member& one = picture.members[i];
    if (one.ending == Ending::kClean) continue;
    if (out || one.ending != Ending::kCutOff || !one.log->loaded) return std::nullopt;
    out = i;
  }
  const bool before = out && picture.members.size() > 2 && !open.empty() &&
                      picture.members[*out].last < open.front().told_at;
  return before ? out : std::nullopt;
}

}  // namespace

bool is_stopped(const Member& member) { return member.silent > kStopped; }
bool is_surely_stopped(const Member& member) { return member.silent > kSurelyStopped; }

bool is_known(Sink::Kind kind) {
  switch (kind) {
    case Sink::Kind::kIdle:
    case Sink::Kind::kStopped:
    case Sink::Kind::kDied:
    case Sink::Kind::kLeft:
    case Sink::Kind::kNetwork:
    case Sink::Kind::kBehind:
    case Sink::Kind::kMismatched:
    case Sink::Kind::kNotCome:
      return true;
    case Sink::Kind::kSilent:
    case Sink::Kind::kNoLog:
    case Sink::Kind::kCycle:
      return false;
  }
  return false;
}

Chains chains_of(const Picture& picture, const std::vector<Wait>& open,
                 const std::vector<const Wait*>& stuck, const std::vector<End>& ends) {
  auto out = Graph(picture, open, stuck, ends).chains();
  if (open.empty()) add_stopped(picture, out.sinks);
  if (!out.sinks.empty() && is_known(out.sinks.front().kind) && !out.sinks.front().by_last_words)
    return out;
  if (const auto last = only_without_last_words(picture, open)) {
    Sink sink;
    sink.members = {*last};
    sink.since = picture.members[*last].last;
    std::set<std::size_t> waiting;
    for (const auto& wait : open) waiting.insert(wait.who());
    for (const auto member : waiting) out.by[member] = 0;
    sink.waiting = waiting.size();
    out.sinks = {std::move(sink)};
  }
  return out;
}

}  // namespace nnd::report
