#include "report/culprits.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "report/address_plan.h"

namespace nnd::report {

namespace {

using Blamed = Culprit::Kind;
using Pair = std::pair<Place, Place>;  // in order; a failure with one end has it twice

// A kind, and what tells such culprits apart.
using Key = std::pair<Blamed, std::string>;

bool is_empty(const Place& place) { return place == Place{}; }

Pair pair_of(const Place& a, const Place& b) {
  const Place& other = is_empty(b) ? a : b;
  return a < other ? Pair{a, other} : Pair{other, a};
}

std::string hca_name(const Place& place) { return place.host + "/" + place.dev; }

// Its port, where it has several.
std::string end_name(const Place& place) {
  return place.port == 0 ? hca_name(place) : hca_name(place) + ":" + std::to_string(place.port);
}

// Calls take(kind, name, place, other) for everything that has part in a pair, once each.
template <typename Take>
void for_each_part(const Pair& pair, const AddressPlan& plan, const Take& take) {
  const Place &a = pair.first, &b = pair.second;
  const Place nowhere;
  const auto both = [&](Blamed kind, const auto& name_of) {
    const std::string one = name_of(a), other = name_of(b);
    if (!one.empty()) take(kind, one, a, nowhere);
    if (!other.empty() && other != one) take(kind, other, b, nowhere);
  };
  both(Blamed::kHost, [](const Place& place) { return place.host; });
  both(Blamed::kHca, [](const Place& place) { return place.dev.empty() ? "" : hca_name(place); });
  both(Blamed::kPort, [](const Place& place) { return place.port == 0 ? "" : end_name(place); });
  both(Blamed::kSubnet, [](const Place& place) { return place.subnet; });
  std::set<std::string> planes;
  for (const Place* place : {&a, &b})
    for (const auto& plane : plan.planes_of(place->subnet))
      if (planes.insert(plane.prefix).second) {
        Place of;
        of.subnet = plane.prefix;
        take(Blamed::kPlane, plane.prefix, of, nowhere);
      }
  if (a != b && !a.dev.empty() && !b.dev.empty())
    take(Blamed::kPair, end_name(a) + " " + end_name(b), a, b);
  if (!a.dev.empty() && a.dev == b.dev) take(Blamed::kRail, a.dev, a, nowhere);
  if (!a.subnet.empty() && !b.subnet.empty() && a.subnet != b.subnet)
    take(Blamed::kBetween, std::min(a.subnet, b.subnet) + " " + std::max(a.subnet, b.subnet), a, b);
  take(Blamed::kAll, std::string(), nowhere, nowhere);
}

using Completed = std::unordered_map<std::uint64_t, std::uint64_t>;  // requests, by connection
Completed completed_by_box(const Member& member) {
  Completed out;
  if (member.box != nullptr)
    for (const auto& slot : member.box->conns) out.emplace(slot.conn, slot.completed);
  return out;
}

// What came through of all that it was given; nothing where its log doesn't tell.
std::optional<std::uint64_t> completed_of(const Member& member, const Completed& by_box,
                                          std::uint64_t number, const log::Connection& connection) {
  if (connection.completed) return *connection.completed;
  if (const auto slot = by_box.find(number); slot != by_box.end()) return slot->second;
  if (member.log->summary)
    for (const auto& port : member.log->summary->ports)
      if (port.name == connection.dev.name && port.port == connection.dev.port &&
          port.completed == 0)
        return 0;
  return std::nullopt;
}

// Pairs that don't fail, each from who sends to who receives. Where requests do, a pair that was
// connected works only if something came through; where no log tells, it may work.
struct Working {
  std::set<std::pair<Place, Place>> known, maybe;

  std::set<Pair> pairs() const {
    std::set<Pair> out;
    for (const auto* all : {&known, &maybe})
      for (const auto& [from, to] : *all) out.insert(pair_of(from, to));
    return out;
  }
};

Working working_pairs(const Picture& picture, const std::set<Pair>& failing, bool requests_fail) {
  Working out;
  for (std::size_t i = 0; i < picture.members.size(); ++i) {
    const Member& member = picture.members[i];
    const Completed by_box = requests_fail ? completed_by_box(member) : Completed();
    for (const auto& [number, connection] : member.log->connections) {
      if (connection.ready_ns == 0 || connection.dir != log::Direction::kSend) continue;
      const auto from = picture.place_of(i, connection.dev);
      const auto to = picture.peer_place(i, connection.peer, number);
      if (failing.contains(pair_of(from, to))) continue;
      const auto completed = requests_fail ? completed_of(member, by_box, number, connection)
                                           : std::optional<std::uint64_t>(1);
      if (completed != 0) (completed ? out.known : out.maybe).emplace(from, to);
    }
  }
  for (const auto& pair : out.known) out.maybe.erase(pair);
  return out;
}

bool is_one_end(Blamed kind) {
  return kind == Blamed::kPort || kind == Blamed::kHca || kind == Blamed::kHost;
}

// Of two that explain as much, the smaller thing; of two ends of which none is known to work, what
// lies between them.
int preference(Blamed kind) {
  switch (kind) {
    case Blamed::kPort:
      return 8;
    case Blamed::kHca:
      return 7;
    case Blamed::kHost:
      return 6;
    case Blamed::kBetween:
      return 5;
    case Blamed::kRail:
      return 4;
    case Blamed::kSubnet:
      return 3;
    case Blamed::kPlane:
      return 2;
    case Blamed::kPair:
      return 1;
    case Blamed::kAll:
      return 0;
  }
  return 0;
}

double score(const Culprit& culprit) {
  const auto explained = static_cast<double>(culprit.explained);
  return explained / static_cast<double>(culprit.failing) * explained /
         (explained + static_cast<double>(culprit.working));
}

// As what the ends of a failing pair fail: who can't send may still receive, and only a send that
// works speaks for it.
struct Roles {
  std::set<Key> senders, receivers;

  void add(const Failure& failure, bool both) {
    const auto dir = failure.told == nullptr ? std::nullopt : failure.told->dir;
    for (const auto* place : {&failure.here, &failure.there}) {
      const bool here = place == &failure.here;
      if (both || !dir || here == (*dir == log::Direction::kSend)) add(senders, *place);
      if (both || !dir || here == (*dir == log::Direction::kRecv)) add(receivers, *place);
    }
  }
  static void add(std::set<Key>& ends, const Place& place) {
    ends.insert({Blamed::kHost, place.host});
    ends.insert({Blamed::kHca, hca_name(place)});
    ends.insert({Blamed::kPort, end_name(place)});
  }
};

std::vector<Culprit> rated(const std::set<Pair>& failing, const Working& working,
                           const Roles& roles, const AddressPlan& plan) {
  std::map<Key, Culprit> all;
  for (const auto& pair : failing)
    for_each_part(
        pair, plan,
        [&](Blamed kind, const std::string& name, const Place& place, const Place& other) {
          Culprit& culprit = all[{kind, name}];
          if (culprit.explained++ != 0) return;
          culprit.kind = kind;
          culprit.name = name;
          culprit.place = place;
          culprit.other = other;
        });
  const auto add_working = [&](Blamed kind, const std::string& name) {
    if (const auto found = all.find({kind, name}); found != all.end()) ++found->second.working;
  };
  for (const auto& pair : working.pairs())
    for_each_part(pair, plan,
                  [&](Blamed kind, const std::string& name, const Place&, const Place&) {
                    if (!is_one_end(kind)) add_working(kind, name);
                  });
  std::set<std::pair<Key, Pair>> counted;
  for (const auto& one : working.known) {
    const Place &from = one.first, &to = one.second;
    const Pair pair = pair_of(from, to);
    for_each_part(pair, plan,
                  [&](Blamed kind, const std::string& name, const Place& place, const Place&) {
                    if (!is_one_end(kind)) return;
                    const bool speaks = (place == from && roles.senders.contains({kind, name})) ||
                                        (place == to && roles.receivers.contains({kind, name}));
                    if (speaks && counted.insert({{kind, name}, pair}).second)
                      add_working(kind, name);
                  });
  }
  std::vector<Culprit> out;
  for (auto& [key, culprit] : all) {
    // It is everything only where nothing works.
    if (culprit.kind == Blamed::kAll && !(working.known.empty() && working.maybe.empty())) continue;
    culprit.failing = failing.size();
    if (culprit.kind == Blamed::kHca) culprit.place.port = 0;
    out.push_back(culprit);
  }
  return out;
}

bool has_part(const Culprit& culprit, const Pair& pair, const AddressPlan& plan) {
  bool out = false;
  for_each_part(pair, plan, [&](Blamed kind, const std::string& name, const Place&, const Place&) {
    out = out || (kind == culprit.kind && name == culprit.name);
  });
  return out;
}

bool is_end(const Culprit& culprit) {
  return culprit.kind == Blamed::kPort || culprit.kind == Blamed::kHca;
}

Culprit best_of(const std::vector<Culprit>& all, const std::set<std::string>& signed_ends) {
  const Culprit* told = nullptr;
  for (const auto& one : all)
    if (is_end(one) && signed_ends.contains(one.name) && 2 * one.explained >= one.failing &&
        (told == nullptr || score(one) > score(*told)))
      told = &one;
  if (told != nullptr) return *told;
  const auto better = [](const Culprit& a, const Culprit& b) {
    const double one = score(a), other = score(b);
    constexpr double kSameScore = 1e-9;
    if (one < other - kSameScore || one > other + kSameScore) return one < other;
    if (a.kind != b.kind) return preference(a.kind) < preference(b.kind);
    return a.name.size() < b.name.size();
  };
  Culprit best = *std::max_element(all.begin(), all.end(), better);
  // Both ends explain the one pair equally well.
  if (is_end(best))
    for (const auto& one : all)
      if (one.kind == best.kind && one.name != best.name && one.explained == best.explained &&
          one.working == best.working && best.explained == best.failing)
        for (const auto& pair : all)
          if (pair.kind == Blamed::kPair && pair.explained == best.explained) return pair;
  if (best.kind == Blamed::kHost)
    for (const auto& one : all)
      if (one.kind == best.kind && one.name != best.name && one.explained == best.explained &&
          one.working == best.working)
        best.other = one.place;
  return best;
}

AddressPlan plan_of(const std::set<Pair>& failing, const Working& working) {
  std::set<std::string> subnets;
  const auto pairs = working.pairs();
  for (const auto* some : {&failing, &pairs})
    for (const auto& [a, b] : *some) subnets.insert({a.subnet, b.subnet});
  return AddressPlan(subnets);
}

// What the plan of addresses adds.
void complete(Culprit& culprit, const Picture& picture, const AddressPlan& plan,
              const std::set<Pair>& failing) {
  if (culprit.kind == Blamed::kPlane)
    for (const auto& [a, b] : failing)
      for (const Place* place : {&a, &b})
        for (const auto& plane : plan.planes_of(place->subnet))
          if (plane.prefix == culprit.name) {
            culprit.subnets = plane.subnets;
            culprit.all_subnets = plane.all;
          }
  if (is_end(culprit))
    for (const auto& [gid, place] : picture.by_gid)
      if (place == culprit.place)
        if (const auto address = other_end(gid, place.subnet)) culprit.other_end = *address;
}

}  // namespace

bool fails_requests(const std::vector<Failure>& failing) {
  return std::all_of(failing.begin(), failing.end(), [](const Failure& failure) {
    return failure.told != nullptr &&
           failure.told->event == nccl_net_diag::event_name(nccl_net_diag::EventId::kWcError);
  });
}

std::vector<Culprit> culprits_of(const Picture& picture, const std::vector<Failure>& failing,
                                 const std::vector<Failure>& signs,
                                 const std::vector<Failure>& doubted) {
  std::set<std::string> signed_ends;
  for (const auto& sign : signs) signed_ends.insert(end_name(sign.here));
  constexpr std::size_t kMostCulprits = 3;
  std::set<Pair> pairs;
  for (const auto& failure : failing)
    if (!failure.here.dev.empty() || !failure.here.host.empty())
      pairs.insert(pair_of(failure.here, failure.there));
  if (pairs.empty()) return {};
  const auto all = pairs;
  const bool requests_fail = fails_requests(failing);
  auto working = working_pairs(picture, all, requests_fail);
  Roles roles;
  for (const auto& failure : failing) roles.add(failure, !requests_fail);
  for (const auto& failure : doubted)
    for (auto* some : {&working.known, &working.maybe})
      std::erase_if(*some, [&](const auto& one) {
        return pair_of(one.first, one.second) == pair_of(failure.here, failure.there);
      });
  const auto plan = plan_of(all, working);
  std::vector<Culprit> out;
  while (!pairs.empty() && out.size() < kMostCulprits) {
    Culprit best = best_of(rated(pairs, working, roles, plan), signed_ends);
    const std::size_t before = pairs.size();
    std::erase_if(pairs, [&](const Pair& pair) { return has_part(best, pair, plan); });
    if (pairs.size() == before) break;
    best.failing = all.size();
    complete(best, picture, plan, all);
    out.push_back(best);
  }
  return out;
}

}  // namespace nnd::report
