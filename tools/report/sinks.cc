#include "report/sinks.h"

#include <algorithm>
#include <map>

#include "report/chains.h"
#include "report/idle.h"

namespace nnd::report {

namespace {

// Waits for ranks are told of from 10 s on, and ranks of one communicator begin them apart.
constexpr Ns kAllTell = 5'000'000'000;
constexpr Ns kLeastIdle = 2'000'000'000;

// Of several that may not have come, those that had just begun to connect are on their way.
void drop_who_connected(Sink& sink, const Picture& picture) {
  constexpr Ns kJust = 3'000'000'000;
  const auto connected = [&](std::size_t member) {
    const auto& log = *picture.members[member].log;
    return std::any_of(log.connections.begin(), log.connections.end(), [&](const auto& one) {
      return one.second.ready_ns != 0 &&
             picture.at(member, one.second.ready_ns) + kJust > sink.since;
    });
  };
  if (!std::all_of(sink.members.begin(), sink.members.end(), connected))
    std::erase_if(sink.members, connected);
}

// Nobody waits over the network yet: who lived on by then, and made no communicator, has not
// come.
void add_not_come(Model& model, const Picture& picture) {
  if (!model.stuck_making || !model.waits.sinks.empty() || model.blocked) return;
  const std::size_t teller = *model.stuck_making;
  const log::Making& making = *picture.members[teller].log->making;
  const Ns told = picture.at(teller, making.told.mono_ns);
  const Ns all_have_told = std::max(told, picture.at(teller, making.first_ns) + kAllTell);
  Sink sink;
  sink.kind = Sink::Kind::kNotCome;
  sink.since = told - static_cast<Ns>(making.age_us * 1000);
  sink.waiting = model.making.size();
  std::set<std::size_t> busy(model.making.begin(), model.making.end());
  for (const Wait& wait : model.waits.waits)
    if (!wait.blames_network() && !wait.is_for_nobody()) busy.insert(wait.member);
  for (std::size_t i = 0; i < picture.members.size(); ++i) {
    const Member& one = picture.members[i];
    if (busy.contains(i) || !one.log->loaded || one.ending == Ending::kCutOff || one.log->cut_off ||
        one.last < all_have_told || tells_of_failure(*one.log))
      continue;
    sink.members.push_back(i);
  }
  drop_who_connected(sink, picture);
  if (!sink.members.empty()) model.waits.sinks.push_back(std::move(sink));
}

// Watchdogs may be faster than stalls are told: who gave up its connections with requests under
// way waited for a process that lived on, and had asked for nothing for long.
void add_given_up(Model& model, const Picture& picture, std::set<std::size_t>& inside) {
  if (!model.waits.sinks.empty() || !model.waits.waits.empty()) return;
  std::map<std::size_t, std::set<std::size_t>> waited_for;
  std::map<std::size_t, Ns> since;
  for (std::size_t i = 0; i < picture.members.size(); ++i) {
    if (!model.ends[i].matters()) continue;
    for (const auto& [number, one] : picture.members[i].log->connections) {
      if (one.in_flight.value_or(0) == 0 || one.closed_ns == 0) continue;
      const auto peer = picture.peer_of(i, one.peer, number, one.link);
      if (!peer) continue;
      const auto idle = idle_by_box(picture, *peer);
      if (!idle || *idle + kLeastIdle > picture.at(i, one.closed_ns)) continue;
      waited_for[*peer].insert(i);
      since[*peer] = *idle;
    }
  }
  for (const auto& [peer, waiting] : waited_for) {
    if (picture.host_of(peer).members.size() != 1) continue;  // a neighbour may keep it
    Sink sink;
    sink.kind = Sink::Kind::kIdle;
    sink.members = {peer};
    sink.since = since[peer];
    sink.waiting = waiting.size();
    model.waits.sinks.push_back(std::move(sink));
    inside.insert(waiting.begin(), waiting.end());
  }
}

// Those that are behind may be held, inside their node, by a neighbour that came no further and
// waits for a process without a log.
bool may_be_held(const Waits& waits, const Picture& picture, const Apart& apart) {
  const auto came_no_further = [&](std::size_t member) {
    const auto& all = picture.members[member].log->communicators;
    const auto found = all.find(apart.comm);
    return found != all.end() && !found->second.tasks.empty() &&
           found->second.tasks.front().ordinal <= apart.others.task.ordinal;
  };
  const auto holds = [&](const Wait& wait, std::size_t behind) {
    return !wait.peer && !wait.stall->told.peer.gid.empty() && wait.member != behind &&
           picture.members[wait.member].host == picture.members[behind].host &&
           came_no_further(wait.member);
  };
  const auto& behind = apart.others.members;
  return apart.kind == Apart::Kind::kBehind &&
         std::all_of(behind.begin(), behind.end(), [&](std::size_t member) {
           return std::any_of(waits.waits.begin(), waits.waits.end(),
                              [&](const Wait& wait) { return holds(wait, member); });
         });
}

// Inside a node processes wait for each other without the network, where no chain shows it: who
// is behind in the collectives goes before who is at the end of a chain. Gives where each sink of
// the chains is then.
std::vector<std::size_t> add_apart(Waits& waits, const Picture& picture) {
  auto& sinks = waits.sinks;
  std::vector<std::size_t> at(sinks.size());
  for (std::size_t i = 0; i < at.size(); ++i) at[i] = i;
  if (waits.apart.empty()) return at;
  const Apart& apart = waits.apart.front();
  // What the network does not move keeps others from calling the next.
  if (apart.by_counts && !waits.network.empty()) return at;
  if (may_be_held(waits, picture, apart)) return at;
  const auto is_of = [](const Stand& stand, std::size_t member) {
    return std::find(stand.members.begin(), stand.members.end(), member) != stand.members.end();
  };
  // Who died inside of what others are behind in waited for them.
  const bool sure = !sinks.empty() && (sinks.front().kind == Sink::Kind::kStopped ||
                                       (sinks.front().kind == Sink::Kind::kDied &&
                                        !is_of(apart.most, sinks.front().members.front())));
  if (sure) return at;
  const auto is_guilty = [&](const Sink& one) {
    return apart.kind == Apart::Kind::kBehind &&
           (one.kind == Sink::Kind::kIdle || one.kind == Sink::Kind::kLeft) &&
           std::any_of(one.members.begin(), one.members.end(),
                       [&](std::size_t member) { return is_of(apart.others, member); });
  };
  std::stable_sort(at.begin(), at.end(), [&](std::size_t a, std::size_t b) {
    return is_guilty(sinks[a]) > is_guilty(sinks[b]);
  });
  std::vector<Sink> ordered;
  for (const auto i : at) ordered.push_back(sinks[i]);
  std::vector<std::size_t> places(at.size());
  for (std::size_t i = 0; i < at.size(); ++i) places[at[i]] = i;
  sinks = std::move(ordered);
  bool guilty = false;
  for (auto& one : sinks)
    if (is_guilty(one)) {
      one.apart = 0;
      std::erase_if(one.members, [&](std::size_t member) { return !is_of(apart.others, member); });
      guilty = true;
    }
  if (guilty) return places;
  Sink behind;
  behind.kind = apart.kind == Apart::Kind::kBehind ? Sink::Kind::kBehind : Sink::Kind::kMismatched;
  behind.members = apart.others.members;
  behind.since = apart.since != 0 ? apart.since : waits.waits.front().since;
  behind.waiting = apart.inside;
  behind.apart = 0;
  sinks.insert(sinks.begin(), std::move(behind));
  for (auto& place : places) ++place;
  return places;
}

}  // namespace

WaitsFor add_sinks(Model& model, const Picture& picture, const std::vector<const Wait*>& stuck) {
  WaitsFor out;
  const Chains chains = chains_of(picture, model.waits.waits, stuck, model.ends);
  model.waits.sinks = chains.sinks;
  const auto places = add_apart(model.waits, picture);
  for (const auto& sink : chains.by)
    out.sink.push_back(sink ? std::optional(places[*sink]) : std::nullopt);
  add_not_come(model, picture);
  add_given_up(model, picture, out.inside);
  if (model.waits.sinks.empty()) return out;
  if (const Sink& first = model.waits.sinks.front(); first.apart) {
    const auto& most = model.waits.apart[*first.apart].most.members;
    out.inside.insert(most.begin(), most.end());
  }
  return out;
}

}  // namespace nnd::report
