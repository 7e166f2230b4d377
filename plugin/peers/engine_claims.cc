// What this process concludes from its own state and from what others have said.
#include <algorithm>

#include "peers/compare.h"
#include "peers/engine.h"
#include "peers/engine_times.h"

namespace nnd::peers {

namespace {

constexpr std::uint32_t kRumourMs = 6000;
constexpr std::uint64_t kSiblingsMs = 700;  // until they have answered
constexpr std::uint64_t kMarginNs = 1'000'000;
constexpr std::uint64_t kBusyMs = 700;   // until its peers know that one rests
constexpr std::uint64_t kHintMs = 1400;  // until who knows better has said so

// Where NCCL tells of no calls: one of a node has posted receives since the other has posted
// anything. Within a collective they are less far apart.
bool has_gone_on_without(const State& one, const State& other) {
  return other.posted_ns != 0 && one.posted_receive_ns > other.posted_ns + kMarginNs;
}

}  // namespace

Claim Engine::adopted(const Peer& peer, std::uint64_t now_ms) const {
  Claim claim = peer.said.claim;
  if (claim.hops >= kFarthest) return {};
  const std::uint32_t held = since(peer.said_ms, now_ms);
  claim.told_ms = sum(claim.told_ms, held);
  claim.age_ms = sum(claim.age_ms, held);
  ++claim.hops;
  if (claim.told_ms > kRumourMs || knows_better(claim, now_ms)) return {};
  return claim;
}

// Of itself, what it doesn't say itself is not so; and who has been heard of since has not ended.
bool Engine::knows_better(const Claim& claim, std::uint64_t now_ms) const {
  const bool of_one = claim.kind != Kind::kPair && claim.kind != Kind::kCycle;
  if (claim.who.proc == 0) return claim.known();
  if (claim.who.proc == own_.state.who.proc) return of_one;
  if (claim.kind != Kind::kStopped && claim.kind != Kind::kGone && claim.kind != Kind::kEnded)
    return false;
  const auto found = peers_.find(claim.who.proc);
  if (found == peers_.end()) return false;
  const std::uint64_t heard_ms = std::max(found->second.said_ms, found->second.asked_us_ms);
  return heard_ms != 0 && since(heard_ms, now_ms) < claim.told_ms;
}

// Both are in a collective, which is another for each.
Claim Engine::of_difference(const Peer& peer) const {
  const Doing &mine = own_.state.in, &theirs = peer.said.state.in;
  if (!differ(mine, theirs) || mine.ordinal != theirs.ordinal) return {};
  Claim claim;
  claim.kind = Kind::kCycle;
  const bool first = less(mine, theirs);
  claim.who = first ? own_.state.who : peer.who;
  claim.other = first ? peer.who : own_.state.who;
  claim.doing = first ? mine : theirs;
  claim.other_doing = first ? theirs : mine;
  claim.age_ms = own_.waits_ms;
  return claim;
}

Claim Engine::of_silence(const Peer& peer, std::uint64_t now_ms) const {
  Claim claim;
  // What it knew last: why it ended, or for whom it had waited.
  Claim last = peer.said.claim.kind == Kind::kRests ? Claim{} : peer.said.claim;
  last.age_ms = sum(last.age_ms, since(peer.said_ms, now_ms));
  last.told_ms = sum(last.told_ms, since(peer.said_ms, now_ms));
  const bool of_itself =
      (last.kind == Kind::kFailed || last.kind == Kind::kPort) && last.who.proc == peer.who.proc;
  if (of_itself) {
    last.told_ms = 0;
    return last;
  }
  if (peer.refusals >= kRefusals) {
    const bool of_another =
        last.known() && last.who.proc != peer.who.proc && last.who.proc != own_.state.who.proc &&
        (peer.said.state.failed || peer.refused_ms - peer.said_ms <= kHeardMs) &&
        !knows_better(last, now_ms);
    if (of_another) {
      last.told_ms = 0;
      return last;
    }
    // It was waiting itself, whoever for, when others already waited: by a watchdog, say.
    if (peer.said.state.awaits != 0 && peer.refused_ms - peer.said_ms <= kHeardMs) return {};
    claim.kind = Kind::kEnded;
    claim.age_ms = since(peer.refused_ms, now_ms);
  } else {
    if (!peer.host_answers && peer.tries < kTries) return {};
    claim.kind = peer.host_answers ? Kind::kStopped : Kind::kGone;
    claim.age_ms = since(peer.unheard_since_ms, now_ms);
  }
  claim.who = peer.who;
  claim.doing = peer.said.state.given;
  return claim;
}

Claim Engine::of_edge(const LocalView::Edge& edge, const Peer& peer, std::uint64_t now_ms) const {
  if (peer.refusals >= kRefusals || silent(peer, now_ms)) return of_silence(peer, now_ms);
  if (peer.said_ms == 0 || now_ms - peer.said_ms > kHeardMs) return {};
  for (const Link& mine : edge.links)
    for (const Link& theirs : peer.said.links) {
      if (!theirs.same(mine.yours, mine.listen) || !disagree(mine, theirs)) continue;
      Claim claim;
      claim.kind = Kind::kPair;
      // The same pair has the same order at both ends.
      claim.who =
          std::min(own_.state.who.proc, peer.who.proc) == peer.who.proc ? peer.who : own_.state.who;
      claim.other = claim.who.proc == peer.who.proc ? own_.state.who : peer.who;
      claim.doing = own_.state.in;
      claim.age_ms = mine.age_ms;
      // A port that is down says more.
      const Claim heard = adopted(peer, now_ms);
      return heard.known() && goes_before(heard, claim) ? heard : claim;
    }
  const Claim heard = adopted(peer, now_ms);
  const Claim differs = of_difference(peer);
  return differs.known() && (!heard.known() || heard.kind == Kind::kRests) ? differs : heard;
}

// Only of a process that is in the same job: others of this node may be another's. And only what
// makes clear that this process waits for it, or because of it: two that were given the same and
// want nothing of the network are alike.
Claim Engine::of_sibling(const LocalView::Sibling& sibling, const Peer& peer,
                         std::uint64_t now_ms) const {
  const std::uint64_t comm = own_.state.in.comm;
  const bool same = comm != 0 && peer.said.state.given.comm == comm;
  if (!same && !sibling.same_job) return {};
  if (peer.refusals >= kRefusals || silent(peer, now_ms)) return of_silence(peer, now_ms);
  if (peer.said_ms == 0 || now_ms - peer.said_ms > kHeardMs) return {};
  if (const Claim differs = of_difference(peer); differs.known()) return differs;
  const Claim claim = adopted(peer, now_ms);
  return is_warning(claim.kind) || claim.doing.behind(own_.state.in) ||
                 is_late_untold(sibling, peer, claim, now_ms)
             ? claim
             : Claim{};
}

// Where NCCL tells of no calls: who is late, or may be, of whom one of this node says so.
bool Engine::is_late_untold(const LocalView::Sibling& sibling, const Peer& peer, const Claim& claim,
                            std::uint64_t now_ms) const {
  if (!sibling.same_job || claim.doing.known() || !own_.given.empty()) return false;
  if (claim.kind != Kind::kIdle && claim.kind != Kind::kRests) return false;
  if (!own_.edges.empty()) return may_wait_for(claim.who.proc, now_ms);
  return claim.kind == Kind::kIdle && claim.who.proc == peer.who.proc &&
         has_gone_on_without(own_.state, peer.said.state);
}

// It was given less than one that asks waits in.
bool Engine::is_behind(std::uint64_t now_ms) const {
  return std::any_of(peers_.begin(), peers_.end(), [&](const auto& one) {
    const Doing& theirs = one.second.said.state.in;
    return asks_us(one.second, now_ms) && given(theirs.comm).behind(theirs);
  });
}

// Others have something to send to it, and NCCL has nothing left to do here: it was not given what
// they wait in. What others wait to receive may be what this process sends for one of its node
// (PXN). Where NCCL tells of no calls.
bool Engine::rests(std::uint64_t now_ms) const {
  return own_.rests && own_.given.empty() && own_.worked && !own_.state.moves &&
         own_.state.idle_ms >= timing_.idle_ms &&
         std::any_of(peers_.begin(), peers_.end(), [&](const auto& one) {
           const auto& links = one.second.their_links;
           return asks_us(one.second, now_ms) &&
                  std::any_of(links.begin(), links.end(),
                              [](const Link& link) { return link.state == EndState::kAwaitsRoom; });
         });
}

// It could wait for one of its node, had that one not gone on without it, to wait for nobody or,
// over other nodes, for this one in the end.
bool Engine::its_node_waits_for_it(std::uint64_t now_ms) const {
  return rests_since_ms_ != 0 && now_ms - rests_since_ms_ >= kHintMs && !own_.siblings.empty() &&
         std::all_of(own_.siblings.begin(), own_.siblings.end(), [&](const auto& sibling) {
           const auto found = peers_.find(sibling.proc);
           if (!sibling.same_job || found == peers_.end()) return false;
           const Say& said = found->second.said;
           if (found->second.said_ms == 0 || now_ms - found->second.said_ms > kHeardMs)
             return false;
           const bool of_us = (said.claim.kind == Kind::kRests || said.claim.kind == Kind::kIdle) &&
                              said.claim.who.proc == own_.state.who.proc;
           return (said.state.idle_ms != 0 || of_us) && has_gone_on_without(said.state, own_.state);
         });
}

// Whether it, or one that it waits for over any number of others, waits for a process that neither
// waits nor rests: how long ago somebody has seen that. As a rumour it ends by itself.
std::uint8_t Engine::elsewhere(std::uint64_t now_ms) const {
  std::uint32_t newest = kRumourMs + 1;
  for (const LocalView::Edge& edge : own_.edges) {
    const auto found = peers_.find(edge.proc);
    if (found == peers_.end() || found->second.said_ms == 0) continue;
    const Peer& peer = found->second;
    const std::uint32_t held = since(peer.said_ms, now_ms);
    const std::uint8_t heard = peer.said.state.elsewhere;
    if (peer.busy_since_ms == 0 && heard != kNever)
      newest = std::min(newest, sum(heard * 100u, held));
    else if (peer.busy_since_ms != 0 && peer.said_ms - peer.busy_since_ms >= kBusyMs)
      newest = std::min(newest, held);
  }
  return newest > kRumourMs ? kNever : static_cast<std::uint8_t>((newest + 99) / 100);
}

// All for whom it waits over the network wait too, for that process or for nobody else that is
// known.
bool Engine::may_wait_for(std::uint64_t proc, std::uint64_t now_ms) const {
  return elsewhere(now_ms) == kNever &&
         std::all_of(own_.edges.begin(), own_.edges.end(), [&](const auto& edge) {
           const auto found = peers_.find(edge.proc);
           if (found == peers_.end() || found->second.said_ms == 0) return false;
           const Claim& said = found->second.said.claim;
           return now_ms - found->second.said_ms <= kHeardMs &&
                  (!said.known() || said.who.proc == proc);
         });
}

// One of its node waits, in nothing that this one was not given; or doesn't answer, for now.
bool Engine::may_wait_for_sibling(std::uint64_t now_ms) const {
  return std::any_of(own_.siblings.begin(), own_.siblings.end(), [&](const auto& sibling) {
    const auto found = peers_.find(sibling.proc);
    if (found == peers_.end() || !found->second.answers) return false;
    if (found->second.said_ms == 0 || now_ms - found->second.said_ms > kHeardMs)
      return sibling.same_job;
    const State& theirs = found->second.said.state;
    return theirs.awaits != 0 && theirs.in.known() && !given(theirs.in.comm).behind(theirs.in);
  });
}

// Who is at the other end of what failed here, where it was alive after that and knows of nothing
// else: both are named, since either may be the reason.
Who Engine::failed_with() const {
  const auto found = peers_.find(own_.failed.proc);
  if (own_.failed.proc == 0 || found == peers_.end()) return {};
  const Peer& peer = found->second;
  if (peer.said_ms < failed_ms_) return {};
  const Claim& said = peer.said.claim;
  const bool of_itself =
      said.who.proc == peer.who.proc && (said.kind == Kind::kFailed || said.kind == Kind::kPair);
  const bool of_us = said.who.proc == own_.state.who.proc;
  return !said.known() || said.kind == Kind::kRests || of_itself || of_us ? peer.who : Who{};
}

Claim Engine::own_claim(std::uint64_t now_ms) const {
  Claim claim;
  claim.who = own_.state.who;
  // What whoever asks waits in.
  std::uint64_t comm = own_.state.in.comm;
  for (const auto& [proc, peer] : peers_)
    if (asks_us(peer, now_ms) && peer.said.state.in.known()) comm = peer.said.state.in.comm;
  claim.doing = given(comm);
  const auto take = [&](Kind kind, const LocalView::Trouble& trouble) {
    claim.kind = kind;
    claim.cause = trouble.cause;
    claim.place = trouble.place;
    claim.age_ms = trouble.age_ms;
  };
  if (own_.port_down.cause != 0) {
    take(Kind::kPort, own_.port_down);
  } else if (own_.failed.cause != 0) {
    take(Kind::kFailed, own_.failed);
    if (!is_of_one_end(claim)) claim.other = failed_with();
    // One that has done nothing yet may be waiting for ranks to meet.
  } else if (own_.edges.empty() && asked_ms_ != 0 &&
             now_ms - asked_ms_ >= (own_.alone ? 0 : kSiblingsMs)) {
    // With others on its node it may wait for one of these, which nothing here sees: who was given
    // less than who waits is late.
    const bool behind = is_behind(now_ms) && !may_wait_for_sibling(now_ms);
    if (!own_.state.moves && own_.state.idle_ms >= timing_.idle_ms &&
        (own_.worked || claim.doing.known()) &&
        (own_.alone || behind || (rests(now_ms) && its_node_waits_for_it(now_ms)))) {
      claim.kind = Kind::kIdle;
      claim.age_ms = own_.state.idle_ms;
    } else if (own_.meets_ms >= timing_.idle_ms && behind) {
      claim.kind = Kind::kMeets;
      claim.age_ms = own_.meets_ms;
    }
  }
  if (!claim.known() && !own_.alone && rests(now_ms)) {
    claim.kind = Kind::kRests;
    claim.age_ms = own_.state.idle_ms;
  }
  return claim.known() ? claim : Claim{};
}

void Engine::think(std::uint64_t now_ms) {
  if (!asked(now_ms))
    asked_ms_ = 0;
  else if (asked_ms_ == 0)
    asked_ms_ = now_ms;
  Claim best = own_claim(now_ms);
  // Nothing here says whether it waits for one of its node, which may have ended.
  late_beside_others_ = !own_.alone && is_late(best.kind);
  const auto consider = [&](const Claim& claim) {
    if (claim.known() && (!best.known() || goes_before(claim, best))) best = claim;
  };
  // What failed may have done so because of the other end.
  if (const auto found = peers_.find(own_.failed.proc);
      own_.failed.cause != 0 && found != peers_.end() && found->second.said_ms + kHeardMs > now_ms)
    consider(adopted(found->second, now_ms));
  if (waits_for_strangers())
    for (const std::uint64_t proc : those_known())
      consider(of_sibling({proc, true}, peers_.at(proc), now_ms));
  if (late_beside_others_)
    for (const std::uint64_t proc : those_that_ask(now_ms)) {
      const Peer& peer = peers_.at(proc);
      if (peer.said_ms == 0 || now_ms - peer.said_ms > kHeardMs) continue;
      if (const Claim heard = adopted(peer, now_ms); is_warning(heard.kind)) consider(heard);
    }
  if (wants_to_know(now_ms)) {
    for (const LocalView::Edge* const edge : asked_edges())
      if (const auto found = peers_.find(edge->proc); found != peers_.end())
        consider(of_edge(*edge, found->second, now_ms));
    for (const LocalView::Sibling& sibling : own_.siblings)
      if (const auto found = peers_.find(sibling.proc); found != peers_.end())
        // Before its own word, which is that it wants nothing.
        if (const Claim claim = of_sibling(sibling, found->second, now_ms);
            claim.known() && (best.who.proc == own_.state.who.proc || goes_before(claim, best)))
          best = claim;
    if (cycle_ && !own_.edges.empty() && now_ms - cycle_ms_ <= 3 * kProbeEveryMs) {
      Claim cycle = *cycle_;
      cycle.told_ms = since(cycle_ms_, now_ms);
      consider(cycle);
    }
  }
  if (best.kind == Kind::kRests && best.who.proc != own_.state.who.proc &&
      !may_wait_for(best.who.proc, now_ms))
    best = {};
  if (!rests(now_ms))
    rests_since_ms_ = 0;
  else if (rests_since_ms_ == 0)
    rests_since_ms_ = now_ms;
  claim_ = best;
  claim_ms_ = now_ms;
  if ((best.known() && best.kind != Kind::kRests) || !wants_to_know(now_ms) || own_.edges.empty())
    unknown_ms_ = 0;
  else if (unknown_ms_ == 0)
    unknown_ms_ = now_ms;
  warn_all(now_ms);
  tell_all(now_ms);
}

Claim Engine::claim(std::uint64_t now_ms) const {
  Claim claim = claim_;
  const std::uint32_t passed = since(claim_ms_, now_ms);
  claim.age_ms = sum(claim.age_ms, passed);
  claim.told_ms = sum(claim.told_ms, passed);
  return claim;
}

}  // namespace nnd::peers
