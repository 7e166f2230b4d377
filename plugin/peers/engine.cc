#include "peers/engine.h"

#include <algorithm>
#include <utility>

#include "peers/compare.h"
#include "peers/engine_times.h"

namespace nnd::peers {

namespace {

constexpr std::size_t kMostAsked = 8;
constexpr std::size_t kMostPeers = 4096;
constexpr std::size_t kMostWarned = 64;  // when this process fails
constexpr std::uint64_t kAskAgainMs = 300, kAskEveryMs = 1000;
constexpr std::uint64_t kSilentMs = 2700;  // nothing heard, and kSilentAsks questions unanswered
constexpr unsigned kSilentAsks = 8;
constexpr std::uint64_t kTryEveryMs = 400;
constexpr std::uint64_t kAskedUsMs = 3500;
constexpr std::uint64_t kTellEveryMs = 400, kTellAgainstFloodMs = 50;
constexpr std::uint64_t kProbeAfterMs = 600;
constexpr std::uint64_t kWarnsMs = 2000;  // after a failure

bool waits_or_rests(const Say& said, std::uint64_t proc) {
  const bool waits = said.state.idle_ms == 0 && !said.state.moves;
  const bool late = said.claim.kind == Kind::kRests || said.claim.kind == Kind::kIdle;
  return waits || (late && said.claim.who.proc == proc);
}

}  // namespace

void Engine::look(LocalView own, std::uint64_t now_ms) {
  const bool newly_failed = own.failed.cause != 0 && own.failed.cause != own_.failed.cause;
  const bool newly_down = own.port_down.cause != 0 && own_.port_down.cause == 0;
  own_ = std::move(own);
  if (newly_failed || newly_down) {
    warns_until_ms_ = now_ms + kWarnsMs;
    warned_ = {};
  }
  if (newly_failed) {
    failed_ms_ = now_ms - std::min<std::uint64_t>(now_ms, own_.failed.age_ms);
    if (const auto found = peers_.find(own_.failed.proc); found != peers_.end())
      found->second.asked_ms = 0;
  }
  ask_other_end(now_ms);
  think(now_ms);
}

// Whether the other end of what failed is alive still tells whether it failed because of that one's
// end; and that one may know more.
void Engine::ask_other_end(std::uint64_t now_ms) {
  if (!warns(now_ms) || own_.failed.proc == 0) return;
  const auto found = peers_.find(own_.failed.proc);
  if (found == peers_.end() || found->second.said_ms < failed_ms_)
    ask(own_.failed.proc, {}, now_ms);
}

bool Engine::settled(std::uint64_t now_ms) const {
  if (!warns(now_ms) || own_.failed.proc == 0) return true;
  const auto found = peers_.find(own_.failed.proc);
  return found == peers_.end() || !found->second.answers || found->second.refusals != 0 ||
         found->second.said_ms >= failed_ms_;
}

// Those that have not asked too: it may end before they do.
void Engine::warn_all(std::uint64_t now_ms) {
  if (!warns(now_ms) || same_root(claim_, warned_)) return;
  warned_ = claim_;
  std::size_t warned = 0;
  for (auto& [proc, peer] : peers_)
    if (peer.answers && warned++ < kMostWarned) say(proc, peer, now_ms);
}

bool Engine::asked(std::uint64_t now_ms) const {
  return std::any_of(peers_.begin(), peers_.end(),
                     [&](const auto& one) { return asks_us(one.second, now_ms); });
}

bool Engine::asks_us(const Peer& peer, std::uint64_t now_ms) const {
  return peer.asked_us_ms != 0 && now_ms - peer.asked_us_ms <= kAskedUsMs;
}

std::uint32_t Engine::awaited_ms(std::uint64_t now_ms) const {
  std::uint32_t longest = 0;
  for (const auto& [proc, peer] : peers_) {
    if (!asks_us(peer, now_ms)) continue;
    for (const Link& link : peer.their_links)
      longest = std::max(longest, sum(link.age_ms, since(peer.asked_us_ms, now_ms)));
  }
  return longest;
}

void Engine::met(const Who& who, std::uint64_t now_ms) {
  if (who.proc == 0 || (peers_.size() >= kMostPeers && !peers_.contains(who.proc))) return;
  Peer& peer = peers_[who.proc];
  if (peer.answers) return;
  peer.who = who;
  peer.answers = true;
  if (warns(now_ms) && warned_.known()) say(who.proc, peer, now_ms);
}

bool Engine::wants_to_know(std::uint64_t now_ms) const {
  if (own_.edges.empty() && !own_.inside)
    return waits_for_strangers() ||
           (asked(now_ms) && (!own_.siblings.empty() || !own_.relayed.empty()));
  return own_.waits_ms >= timing_.ask_ms || asked(now_ms);
}

// For who has not come: nobody knows who that is to be.
bool Engine::waits_for_strangers() const {
  return own_.edges.empty() && own_.waits_ms >= timing_.ask_ms;
}

bool Engine::busy(std::uint64_t now_ms) const { return wants_to_know(now_ms) || asked(now_ms); }

std::uint64_t Engine::awaited() const { return own_.edges.empty() ? 0 : own_.edges[0].proc; }

// In the communicator that the other one waits in, where this process is in it too.
State Engine::state_for(const Peer& peer, std::uint64_t now_ms) const {
  State state = own_.state;
  state.awaits = awaited();
  state.failed = own_.failed.cause != 0 || own_.port_down.cause != 0;
  state.elsewhere = elsewhere(now_ms);
  state.given = given(peer.said.state.in.known() ? peer.said.state.in.comm : state.in.comm);
  return state;
}

// In that communicator, where it is in it.
Doing Engine::given(std::uint64_t comm) const {
  for (const Doing& doing : own_.given)
    if (doing.comm == comm) return doing;
  return own_.given.empty() ? Doing{} : own_.given[0];
}

Engine::Out& Engine::out(std::uint64_t to, Type type) {
  Out& made = out_.emplace_back();
  made.to = to;
  made.message.type = type;
  return made;
}

std::vector<Engine::Out> Engine::take_out() { return std::exchange(out_, {}); }
std::vector<std::uint64_t> Engine::take_tries() { return std::exchange(tries_, {}); }

void Engine::ask(std::uint64_t proc, const std::vector<Link>& links, std::uint64_t now_ms) {
  if (proc == 0) return;
  Peer& peer = peers_[proc];  // however many others have come
  const std::uint64_t pause =
      peer.unheard != 0 && peer.refusals < kRefusals ? kAskAgainMs : kAskEveryMs;
  if (peer.asked_ms != 0 && now_ms - peer.asked_ms < pause) return;
  peer.asked_ms = now_ms;
  if (peer.unheard_since_ms == 0) peer.unheard_since_ms = now_ms;
  ++peer.unheard;
  Ask& ask = out(proc, Type::kAsk).message.ask;
  ask.state = state_for(peer, now_ms);
  ask.links.assign(links.begin(), links.begin() + static_cast<std::ptrdiff_t>(
                                                      std::min(links.size(), kLinksAsked)));
}

void Engine::tick(std::uint64_t now_ms) {
  if (wants_to_know(now_ms)) {
    for (const LocalView::Edge* const edge : asked_edges()) ask(edge->proc, edge->links, now_ms);
    for (const LocalView::Sibling& sibling : own_.siblings) ask(sibling.proc, {}, now_ms);
    if (waits_for_strangers())
      for (const std::uint64_t proc : those_known()) ask(proc, {}, now_ms);
  }
  if (late_beside_others_)
    for (const std::uint64_t proc : those_that_ask(now_ms)) ask(proc, {}, now_ms);
  ask_other_end(now_ms);
  for (auto& [proc, peer] : peers_) {
    if (!silent(peer, now_ms) || peer.host_answers || peer.tries >= kTries) continue;
    if (peer.tried_ms != 0 && now_ms - peer.tried_ms < kTryEveryMs) continue;
    peer.tried_ms = now_ms;
    ++peer.tries;
    tries_.push_back(proc);
  }
  think(now_ms);
  probe_if_nobody_knows(now_ms);
}

// Those that wait for longest, of its own and of what it has for others.
std::vector<const LocalView::Edge*> Engine::asked_edges() const {
  std::vector<const LocalView::Edge*> out;
  for (const auto* const edges : {&own_.edges, &own_.relayed})
    for (std::size_t i = 0; i < std::min(edges->size(), kMostAsked); ++i)
      out.push_back(&(*edges)[i]);
  return out;
}

std::vector<std::uint64_t> Engine::those_that_ask(std::uint64_t now_ms) const {
  std::vector<std::uint64_t> out;
  for (const auto& [proc, peer] : peers_)
    if (asks_us(peer, now_ms) && out.size() < kMostAsked) out.push_back(proc);
  return out;
}

// Some that it has met.
std::vector<std::uint64_t> Engine::those_known() const {
  std::vector<std::uint64_t> out;
  for (const auto& [proc, peer] : peers_)
    if (peer.answers && out.size() < kMostAsked) out.push_back(proc);
  return out;
}

bool Engine::silent(const Peer& peer, std::uint64_t now_ms) const {
  return peer.answers && peer.refusals == 0 && peer.unheard >= kSilentAsks &&
         now_ms - peer.unheard_since_ms >= kSilentMs;
}

void Engine::refused(std::uint64_t proc, std::uint64_t now_ms) {
  const auto found = peers_.find(proc);
  // A firewall refuses too, but lets nobody answer; and who lives answers the next question.
  if (found == peers_.end() || !found->second.answers ||
      found->second.unheard <= found->second.refusals)
    return;
  Peer& peer = found->second;
  if (peer.refusals == 0) peer.refused_ms = now_ms;
  if (peer.refusals < kRefusals) ++peer.refusals;
  think(now_ms);
}

void Engine::host_answered(std::uint64_t proc, std::uint64_t now_ms) {
  const auto found = peers_.find(proc);
  if (found == peers_.end() || found->second.tries == 0) return;
  found->second.host_answers = true;
  think(now_ms);
}

// The same connections, as this process sees its ends of them.
std::vector<Link> Engine::seen_here(std::uint64_t proc, const std::vector<Link>& asked) const {
  std::vector<Link> all;
  for (const auto* const edges : {&own_.edges, &own_.relayed})
    for (const LocalView::Edge& edge : *edges)
      if (edge.proc == proc) all.insert(all.end(), edge.links.begin(), edge.links.end());
  if (const auto quiet = own_.quiet.find(proc); quiet != own_.quiet.end())
    all.insert(all.end(), quiet->second.begin(), quiet->second.end());
  std::vector<Link> out;
  for (const Link& theirs : asked) {
    Link& mine = out.emplace_back();
    mine.state = EndState::kUnknown;
    mine.yours = !theirs.yours;
    mine.listen = theirs.listen;
    for (const Link& link : all)
      if (link.yours == mine.yours && link.listen == mine.listen) mine = link;
  }
  return out;
}

void Engine::say(std::uint64_t proc, Peer& peer, std::uint64_t now_ms) {
  peer.told_ms = now_ms;
  peer.told = claim(now_ms);
  peer.told_elsewhere = elsewhere(now_ms) != kNever;
  Say& say = out(proc, Type::kSay).message.say;
  say.state = state_for(peer, now_ms);
  say.links = seen_here(proc, peer.their_links);
  say.claim = peer.told;
}

void Engine::heard(std::uint64_t from, const Message& message, std::uint64_t now_ms) {
  if (peers_.size() >= kMostPeers && !peers_.contains(from)) return;
  Peer& peer = peers_[from];
  const auto takes_state = [&](const State& state) {
    peer.who = state.who;
    peer.who.proc = from;
    peer.answers = true;
    peer.refusals = 0;
    peer.tries = 0;
    peer.host_answers = false;
  };
  switch (message.type) {
    case Type::kAsk:
      takes_state(message.ask.state);
      peer.said.state = message.ask.state;
      peer.asked_us_ms = now_ms;
      peer.their_links = message.ask.links;
      if (now_ms - peer.told_ms >= kTellAgainstFloodMs || peer.told_ms == 0) {
        think(now_ms);
        if (peer.told_ms != now_ms || !same_root(peer.told, claim_)) say(from, peer, now_ms);
      }
      break;
    case Type::kSay:
      takes_state(message.say.state);
      peer.said = message.say;
      peer.said_ms = now_ms;
      if (waits_or_rests(message.say, from))
        peer.busy_since_ms = 0;
      else if (peer.busy_since_ms == 0)
        peer.busy_since_ms = now_ms;
      peer.unheard = 0;
      peer.unheard_since_ms = 0;
      think(now_ms);
      break;
    case Type::kProbe:
      if (asks_us(peer, now_ms)) take_probe(message.probe, now_ms);
      break;
    case Type::kHello:
    case Type::kWelcome:
    case Type::kFacts:
    case Type::kArrivals:
      break;
  }
}

// What is new at once; what is so still as often as somebody may need it.
void Engine::tell_all(std::uint64_t now_ms) {
  const bool is_elsewhere = elsewhere(now_ms) != kNever;
  for (auto& [proc, peer] : peers_) {
    if (!asks_us(peer, now_ms)) continue;
    const std::uint64_t passed = now_ms - peer.told_ms;
    const bool fresher = claim_.known() &&
                         claim_.told_ms + 200 < sum(peer.told.told_ms, since(peer.told_ms, now_ms));
    const bool news = !same_root(claim_, peer.told) || (is_elsewhere && !peer.told_elsewhere);
    if ((news && passed >= kTellAgainstFloodMs) || (fresher && passed >= kTellEveryMs))
      say(proc, peer, now_ms);
  }
}

void Engine::probe_if_nobody_knows(std::uint64_t now_ms) {
  const bool renews = cycle_ && same_root(claim_, *cycle_);
  if (!renews && (unknown_ms_ == 0 || now_ms - unknown_ms_ < kProbeAfterMs)) return;
  if (probed_ms_ != 0 && now_ms - probed_ms_ < kProbeEveryMs) return;
  probed_ms_ = now_ms;
  Probe probe;
  probe.initiator = own_.state.who.proc;
  probe.round = ++round_;
  last_probe_ = {probe.initiator, probe.round, now_ms};
  pass_on(probe);
}

void Engine::pass_on(Probe probe) {
  if (awaited() == 0 || probe.hops >= kFarthest) return;
  ++probe.hops;
  widen(probe, own_.state.who, own_.state.in.known() ? own_.state.in : own_.state.given);
  probe.all_alone = probe.all_alone && own_.alone;
  out(awaited(), Type::kProbe).message.probe = probe;
}

// One probe survives in a ring, that of the greatest initiator; who has seen it before is part of
// the ring.
void Engine::take_probe(const Probe& probe, std::uint64_t now_ms) {
  if (own_.edges.empty()) return;
  const bool any = last_probe_.seen_ms != 0;
  const bool same = any && probe.initiator == last_probe_.initiator;
  const bool again = same && probe.round == last_probe_.round;
  if (again) {
    // Ranks wait for each other in a ring also where one of them waits for its own node.
    const bool untold = !probe.least.known() && probe.all_alone;
    if (!differ(probe.least, probe.most) && !untold) return;
    Claim cycle;
    cycle.kind = Kind::kCycle;
    cycle.who = probe.least_who;
    cycle.other = probe.most_who;
    cycle.doing = probe.least;
    cycle.other_doing = probe.most;
    cycle.age_ms = own_.waits_ms;
    cycle_ = cycle;
    cycle_ms_ = now_ms;
    think(now_ms);
    return;
  }
  const bool recent = any && now_ms - last_probe_.seen_ms < 2 * kProbeEveryMs;
  const bool older = same && static_cast<std::int32_t>(probe.round - last_probe_.round) < 0;
  if (recent && (older || probe.initiator < last_probe_.initiator)) return;
  if (!probes_.take(now_ms)) return;
  last_probe_ = {probe.initiator, probe.round, now_ms};
  pass_on(probe);
}

}  // namespace nnd::peers
