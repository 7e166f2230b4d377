#include "report/culprits.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace nnd::report {

namespace {

using Kind = Culprit::Kind;
using Pair = std::pair<Place, Place>;  // in order; a failure with one end has it twice

// A kind and what of the places tells such culprits apart.
using Key = std::tuple<Kind, std::string, std::string>;

Place bare(const Place& place) { return {place.host, place.dev, place.subnet}; }

Pair pair_of(const Place& a, const Place& b) {
  const Place one = bare(a),
              other = b.host.empty() && b.dev.empty() && b.subnet.empty() ? one : bare(b);
  return one < other ? Pair{one, other} : Pair{other, one};
}

std::string hca_name(const Place& place) { return place.host + "/" + place.dev; }

// Everything that has part in a pair, with a place of it.
std::map<Key, Culprit> parts_of(const Pair& pair) {
  std::map<Key, Culprit> out;
  const auto add = [&](Kind kind, std::string name, const Place& place, const Place& other = {}) {
    Culprit culprit;
    culprit.kind = kind;
    culprit.place = place;
    culprit.other = other;
    out.emplace(Key(kind, std::move(name), ""), culprit);
  };
  const auto& [a, b] = pair;
  for (const Place* place : {&a, &b}) {
    if (!place->host.empty()) add(Kind::kHost, place->host, *place);
    if (!place->dev.empty()) add(Kind::kHca, hca_name(*place), *place);
    if (!place->subnet.empty()) add(Kind::kSubnet, place->subnet, *place);
  }
  if (a != b && !a.dev.empty() && !b.dev.empty())
    add(Kind::kPair, hca_name(a) + " " + hca_name(b), a, b);
  if (!a.dev.empty() && a.dev == b.dev) add(Kind::kRail, a.dev, a);
  if (!a.subnet.empty() && !b.subnet.empty() && a.subnet != b.subnet)
    add(Kind::kBetween, std::min(a.subnet, b.subnet) + " " + std::max(a.subnet, b.subnet), a, b);
  add(Kind::kAll, "", {});
  return out;
}

// Pairs that have moved data, or were at least connected.
std::set<Pair> working_pairs(const Picture& picture, const std::set<Pair>& failing) {
  std::set<Pair> out;
  for (std::size_t i = 0; i < picture.members.size(); ++i)
    for (const auto& [number, connection] : picture.members[i].log->connections) {
      if (connection.ready_ns == 0 || connection.dir != log::Direction::kSend) continue;
      const auto pair = pair_of(picture.place_of(i, connection.dev),
                                picture.peer_place(i, connection.peer, number));
      if (!failing.contains(pair)) out.insert(pair);
    }
  return out;
}

// Of two that explain as much, the smaller thing; of two ends of which none is known to work, what
// lies between them.
int preference(Kind kind) {
  switch (kind) {
    case Kind::kHca:
      return 6;
    case Kind::kHost:
      return 5;
    case Kind::kBetween:
      return 4;
    case Kind::kRail:
      return 3;
    case Kind::kSubnet:
      return 2;
    case Kind::kPair:
      return 1;
    case Kind::kAll:
      return 0;
  }
  return 0;
}

double score(const Culprit& culprit) {
  const auto explained = static_cast<double>(culprit.explained);
  return explained / static_cast<double>(culprit.failing) * explained /
         (explained + static_cast<double>(culprit.working));
}

std::vector<Culprit> rated(const std::set<Pair>& failing, const std::set<Pair>& working) {
  std::map<Key, Culprit> all;
  for (const auto& pair : failing)
    for (const auto& [key, culprit] : parts_of(pair))
      ++all.emplace(key, culprit).first->second.explained;
  for (const auto& pair : working)
    for (const auto& [key, culprit] : parts_of(pair))
      if (const auto found = all.find(key); found != all.end()) ++found->second.working;
  std::vector<Culprit> out;
  for (auto& [key, culprit] : all) {
    // It is everything only where nothing works.
    if (culprit.kind == Kind::kAll && !working.empty()) continue;
    culprit.failing = failing.size();
    out.push_back(culprit);
  }
  return out;
}

bool has_part(const Culprit& culprit, const Pair& pair) {
  const auto parts = parts_of(pair);
  return std::any_of(parts.begin(), parts.end(), [&](const auto& part) {
    const Culprit& one = part.second;
    if (one.kind != culprit.kind) return false;
    switch (culprit.kind) {
      case Kind::kHca:
        return hca_name(one.place) == hca_name(culprit.place);
      case Kind::kHost:
        return one.place.host == culprit.place.host;
      case Kind::kRail:
        return one.place.dev == culprit.place.dev;
      case Kind::kSubnet:
        return one.place.subnet == culprit.place.subnet;
      case Kind::kBetween:
        return std::minmax(one.place.subnet, one.other.subnet) ==
               std::minmax(culprit.place.subnet, culprit.other.subnet);
      case Kind::kPair:
        return one.place == culprit.place && one.other == culprit.other;
      case Kind::kAll:
        return true;
    }
    return false;
  });
}

Culprit best_of(const std::vector<Culprit>& all, const std::set<std::string>& signed_hcas) {
  const Culprit* told = nullptr;
  for (const auto& one : all)
    if (one.kind == Kind::kHca && signed_hcas.contains(hca_name(one.place)) &&
        2 * one.explained >= one.failing && (told == nullptr || score(one) > score(*told)))
      told = &one;
  if (told != nullptr) return *told;
  const auto better = [](const Culprit& a, const Culprit& b) {
    const double one = score(a), other = score(b);
    constexpr double kAlike = 1e-9;
    if (one < other - kAlike || one > other + kAlike) return one < other;
    return preference(a.kind) < preference(b.kind);
  };
  Culprit best = *std::max_element(all.begin(), all.end(), better);
  // Both ends explain the one pair equally well.
  if (best.kind == Kind::kHca)
    for (const auto& one : all)
      if (one.kind == Kind::kHca && hca_name(one.place) != hca_name(best.place) &&
          one.explained == best.explained && one.working == best.working &&
          best.explained == best.failing)
        for (const auto& pair : all)
          if (pair.kind == Kind::kPair && pair.explained == best.explained) return pair;
  return best;
}

}  // namespace

std::vector<Culprit> culprits_of(const Picture& picture, const std::vector<Failure>& failing,
                                 const std::vector<Failure>& signs) {
  std::set<std::string> signed_hcas;
  for (const auto& sign : signs) signed_hcas.insert(hca_name(sign.here));
  constexpr std::size_t kMost = 3;
  std::set<Pair> pairs;
  for (const auto& failure : failing)
    if (!failure.here.dev.empty() || !failure.here.host.empty())
      pairs.insert(pair_of(failure.here, failure.there));
  const auto working = working_pairs(picture, pairs);
  const std::size_t all = pairs.size();
  std::vector<Culprit> out;
  while (!pairs.empty() && out.size() < kMost) {
    Culprit best = best_of(rated(pairs, working), signed_hcas);
    const std::size_t before = pairs.size();
    std::erase_if(pairs, [&](const Pair& pair) { return has_part(best, pair); });
    if (pairs.size() == before) break;
    best.failing = all;
    out.push_back(best);
  }
  return out;
}

}  // namespace nnd::report
