#include "report/clocks.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

namespace nnd::report {

namespace {

constexpr Ns kUnbounded = std::numeric_limits<Ns>::max() / 4;
constexpr Ns kMost = 1'000'000'000'000'000'000;  // thirty years: no clock is so wrong

// By how much the clock of one host is ahead of another's: between the two.
struct Bounds {
  Ns least = -kUnbounded, most = kUnbounded;

  Ns width() const { return most - least; }
  Bounds reversed() const { return {-most, -least}; }
  void narrow(const Bounds& other) {
    least = std::max(least, other.least);
    most = std::min(most, other.most);
  }
  // Where they contradict each other a clock was set while the job ran.
  Ns guess() const {
    if (least <= 0 && most >= 0) return 0;
    if (least <= -kUnbounded) return most;
    if (most >= kUnbounded) return least;
    return least + (most - least) / 2;
  }
};

struct Moves {
  Ns rtr_end = 0, rtr_begin = 0, rts_end = 0;  // 0: it was not seen
};

Moves moves_of(const Picture& picture, std::size_t member, const log::Connection& connection) {
  Moves out;
  for (const auto& transition : connection.transitions) {
    if (transition.failed()) continue;
    const Ns end = picture.at(member, transition.mono_ns);
    if (transition.qp.to == "RTR" && (out.rtr_end == 0 || end < out.rtr_end)) {
      out.rtr_end = end;
      out.rtr_begin = end - static_cast<Ns>(transition.dur_us * 1000);
    }
    if (transition.qp.to == "RTS" && (out.rts_end == 0 || end < out.rts_end)) out.rts_end = end;
  }
  return out;
}

// The listener's QP is ready to receive before it tells the dialling end its number, which that end
// needs to move its own; and the listener hears that this one is ready before it has the
// connection. By how much the listener's clock is ahead.
Bounds bounds_of(const Picture& picture, std::size_t sender, const log::Connection& send,
                 std::size_t receiver, const log::Connection& recv) {
  const Moves from = moves_of(picture, sender, send), to = moves_of(picture, receiver, recv);
  Bounds out;
  if (to.rtr_end != 0 && from.rtr_begin != 0) out.least = to.rtr_end - from.rtr_begin;
  if (from.rts_end != 0 && recv.ready_ns != 0)
    out.most = picture.at(receiver, recv.ready_ns) - from.rts_end;
  // Nobody dials before there is a listener.
  if (const auto listen = picture.members[receiver].log->listens.find(recv.link.listen);
      listen != picture.members[receiver].log->listens.end() && send.opened_ns != 0)
    out.least = std::max(out.least,
                         picture.at(receiver, listen->second) - picture.at(sender, send.opened_ns));
  return out;
}

using Pairs = std::map<std::pair<std::size_t, std::size_t>, Bounds>;

// What all ranks hear of at once, each tells within so much; and clocks that show it so are no
// further apart.
constexpr Ns kAtOnce = 100'000'000;
constexpr Ns kAlike = 150'000'000;

// No rank has met the others before each of them has begun to make the communicator. Only of
// processes that have made no other one: which of several a line is of isn't always told.
struct Meeting {
  Ns last_init = 0, first_met = 0;  // of a host's processes
};
void add_meetings(const Picture& picture, Pairs& pairs) {
  std::map<std::string, std::map<std::size_t, Meeting>> all;  // by communicator and host
  for (std::size_t i = 0; i < picture.members.size(); ++i) {
    const log::Process& one = *picture.members[i].log;
    if (one.communicators.size() != 1 || one.init_ns == 0 || one.met_ns == 0) continue;
    const std::string& comm = one.communicators.begin()->first;
    if (picture.several.contains(comm)) continue;
    const Ns init = picture.at(i, one.init_ns), met = picture.at(i, one.met_ns);
    const auto [host, is_first] =
        all[comm].try_emplace(picture.members[i].host, Meeting{init, met});
    if (is_first) continue;
    host->second.last_init = std::max(host->second.last_init, init);
    host->second.first_met = std::min(host->second.first_met, met);
  }
  for (const auto& [comm, hosts] : all) {
    if (hosts.empty()) continue;
    // With one is enough, as those are compared one after the other; all with all are too many.
    const auto& [here, mine] =
        *std::min_element(hosts.begin(), hosts.end(), [](const auto& one, const auto& other) {
          return one.second.first_met - one.second.last_init <
                 other.second.first_met - other.second.last_init;
        });
    for (const auto& [there, theirs] : hosts) {
      if (there == here) continue;
      Bounds bounds{theirs.last_init - mine.first_met, theirs.first_met - mine.last_init};
      if (std::abs(theirs.first_met - mine.first_met) <= kAtOnce) bounds.narrow({-kAlike, kAlike});
      pairs[{here, there}].narrow(bounds);
      pairs[{there, here}].narrow(bounds.reversed());
    }
  }
}

// By how much the second host's clock is ahead of the first's, of each pair with connections.
Pairs bounds_of_pairs(const Picture& picture) {
  Pairs out;
  add_meetings(picture, out);
  for (std::size_t i = 0; i < picture.members.size(); ++i)
    for (const auto& [number, connection] : picture.members[i].log->connections) {
      if (connection.dir != log::Direction::kSend) continue;
      const auto end = picture.ends.find(&connection);
      if (end == picture.ends.end()) continue;
      const auto other = picture.by_proc.find(end->second.process->proc);
      if (other == picture.by_proc.end()) continue;
      const std::size_t here = picture.members[i].host, there = picture.members[other->second].host;
      if (here == there) continue;
      const Bounds bounds =
          bounds_of(picture, i, connection, other->second, *end->second.connection);
      out[{here, there}].narrow(bounds);
      out[{there, here}].narrow(bounds.reversed());
    }
  return out;
}

}  // namespace

// From the host with most processes on, always by the pair that is known best.
void compare_clocks(Picture& picture) {
  if (picture.hosts.size() < 2) return;
  const Pairs pairs = bounds_of_pairs(picture);
  std::vector<std::vector<std::pair<std::size_t, Bounds>>> next(picture.hosts.size());
  for (const auto& [pair, bounds] : pairs) next[pair.first].emplace_back(pair.second, bounds);
  const auto start =
      static_cast<std::size_t>(std::max_element(picture.hosts.begin(), picture.hosts.end(),
                                                [](const Host& a, const Host& b) {
                                                  return a.members.size() < b.members.size();
                                                }) -
                               picture.hosts.begin());
  std::vector<bool> done(picture.hosts.size());
  std::multimap<Ns, std::tuple<std::size_t, std::size_t, Bounds>> open;
  const auto reach = [&](std::size_t host) {
    done[host] = true;
    picture.hosts[host].compared = true;
    for (const auto& [other, bounds] : next[host])
      open.emplace(std::max<Ns>(bounds.width(), 0), std::tuple(host, other, bounds));
  };
  reach(start);
  while (!open.empty()) {
    const auto [from, to, bounds] = open.extract(open.begin()).mapped();
    if (done[to]) continue;
    Host& host = picture.hosts[to];
    host.ahead = std::clamp(picture.hosts[from].ahead + bounds.guess(), -kMost, kMost);
    const Ns width = bounds.width() < kUnbounded ? std::max<Ns>(bounds.width(), 0) / 2 : 0;
    host.uncertain = std::min(picture.hosts[from].uncertain + width, kMost);
    reach(to);
  }
}

Ns clocks_apart(const Picture& picture, std::size_t one, std::size_t other) {
  if (picture.members[one].host == picture.members[other].host) return 0;
  const Host &here = picture.host_of(one), &there = picture.host_of(other);
  if (!here.compared || !there.compared) return kUncompared;
  return std::min(here.uncertain + there.uncertain, kUncompared);
}

}  // namespace nnd::report
