#include "report/flights.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace nnd::report {

using foreign::FlightCall;
using foreign::FlightDump;
using foreign::FlightGroup;

namespace {

using ByRank = std::map<int, const FlightGroup*>;

struct Group {
  std::set<int> ranks;
  ByRank dumps;
};

// By name: process groups have one name on all ranks.
std::map<std::string, Group> groups_of(const std::vector<FlightDump>& dumps) {
  std::int64_t began = 0;
  for (const auto& dump : dumps) began = std::max(began, dump.first_ns);
  std::map<std::string, Group> out;
  for (const auto& dump : dumps) {
    if (!dump.rank || dump.last_ns < began) continue;
    for (const auto& group : dump.groups) {
      auto& one = out[group.name];
      one.ranks.insert(group.ranks.begin(), group.ranks.end());
      one.dumps.emplace(*dump.rank, &group);
    }
  }
  return out;
}

const FlightCall* call_of(const FlightGroup& group, std::int64_t seq) {
  for (const auto& call : group.unfinished)
    if (call.seq == seq) return &call;
  return nullptr;
}

std::string name_of(const FlightGroup& group) {
  return group.description.empty() ? group.name : group.description;
}

// A gather or a scatter has other sizes on its root, and some collectives on all ranks.
bool have_one_size(const std::string& what) {
  constexpr std::array kWhats{"all_reduce", "broadcast",       "ALLREDUCE",
                              "BROADCAST",  "_ALLGATHER_BASE", "_REDUCE_SCATTER_BASE"};
  return std::any_of(kWhats.begin(), kWhats.end(),
                     [&](const char* one) { return what.find(one) != std::string::npos; });
}

std::string kind_of(const FlightCall& call) {
  return have_one_size(call.what) ? call.what + " " + call.sizes : call.what;
}

// Those of the calls at one place that are not what most are.
void find_mismatch(Flight& out, const std::map<int, const FlightCall*>& calls) {
  std::map<std::string, std::vector<int>> kinds;
  for (const auto& [rank, call] : calls)
    if (!call->what.empty()) kinds[kind_of(*call)].push_back(rank);
  if (kinds.size() < 2) return;
  const auto most = std::max_element(kinds.begin(), kinds.end(), [](const auto& a, const auto& b) {
    return a.second.size() < b.second.size();
  });
  out.kind = Flight::Kind::kMismatched;
  out.waiting = most->second;
  out.call = *calls.at(most->second.front());
  for (const auto& [kind, ranks] : kinds)
    if (kind != most->first) out.guilty.insert(out.guilty.end(), ranks.begin(), ranks.end());
  std::sort(out.guilty.begin(), out.guilty.end());
  out.other = *calls.at(out.guilty.front());
}

// Those that called fewest, where others called more.
void find_fewest(Flight& out, const ByRank& dumps) {
  const auto [least, most] = std::minmax_element(
      dumps.begin(), dumps.end(),
      [](const auto& a, const auto& b) { return a.second->last.seq < b.second->last.seq; });
  if (least->second->last.seq == most->second->last.seq) return;
  for (const auto& [rank, dump] : dumps)
    if (dump->last.seq == least->second->last.seq) out.guilty.push_back(rank);
  out.other = least->second->last;
}

std::optional<Flight> flight_in(const Group& group) {
  auto seq = std::numeric_limits<std::int64_t>::max();
  for (const auto& [rank, dump] : group.dumps)
    if (!dump->unfinished.empty()) seq = std::min(seq, dump->unfinished.front().seq);
  std::map<int, const FlightCall*> calls;
  Flight out;
  for (const auto& [rank, dump] : group.dumps) {
    if (const auto* const call = call_of(*dump, seq)) {
      calls.emplace(rank, call);
      out.waiting.push_back(rank);
    } else if (dump->last.seq < seq) {
      out.guilty.push_back(rank);
    }
  }
  if (calls.empty()) return {};
  const auto told = std::find_if(calls.begin(), calls.end(),
                                 [](const auto& one) { return !one.second->what.empty(); });
  out.call = *(told == calls.end() ? calls.begin() : told)->second;
  out.group = name_of(*group.dumps.begin()->second);
  if (!out.guilty.empty()) {
    out.kind = Flight::Kind::kBehind;
    if (const auto& last = group.dumps.at(out.guilty.front())->last; last.seq != 0)
      out.other = last;
    return out;
  }
  find_mismatch(out, calls);
  if (out.kind == Flight::Kind::kMismatched) return out;
  for (const int rank : group.ranks)
    if (!group.dumps.contains(rank)) out.guilty.push_back(rank);
  out.kind = out.guilty.empty() ? Flight::Kind::kAllIn : Flight::Kind::kNoDump;
  if (out.kind == Flight::Kind::kAllIn) find_fewest(out, group.dumps);
  return out;
}

}  // namespace

std::optional<Flight> flight_of(const std::vector<FlightDump>& dumps) {
  std::vector<Flight> all;
  std::set<int> waiting;
  for (const auto& [name, group] : groups_of(dumps))
    if (auto one = flight_in(group)) {
      waiting.insert(one->waiting.begin(), one->waiting.end());
      all.push_back(std::move(*one));
    }
  // Who is behind in one group and waits in another is held up there.
  const auto order = [&](const Flight& flight) {
    const bool waits = std::any_of(flight.guilty.begin(), flight.guilty.end(),
                                   [&](int rank) { return waiting.contains(rank); });
    return std::pair(flight.kind == Flight::Kind::kBehind && waits, flight.kind);
  };
  const auto first =
      std::min_element(all.begin(), all.end(),
                       [&](const Flight& a, const Flight& b) { return order(a) < order(b); });
  if (first == all.end()) return {};
  first->by_watchdog = std::all_of(dumps.begin(), dumps.end(),
                                   [](const FlightDump& dump) { return dump.by_watchdog; });
  return *first;
}

}  // namespace nnd::report
