#include "report/collectives.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <tuple>

#include "log/nccl_version.h"

namespace nnd::report {

namespace {

struct Membership {
  std::size_t member = 0;
  const log::Communicator* of = nullptr;
};
using Communicators = std::map<std::string, std::vector<Membership>>;

Communicators communicators_of(const Picture& picture) {
  Communicators out;
  for (std::size_t i = 0; i < picture.members.size(); ++i)
    for (const auto& [comm, one] : picture.members[i].log->communicators)
      if (!picture.several.contains(comm)) out[comm].push_back({i, &one});
  return out;
}

// What a collective is, for all of its ranks the same. Sizes count where all tell one: NCCL calls
// ncclUint8 unknown.
using Same = std::tuple<std::string, std::uint64_t>;
Same same(const log::Task& task, bool by_size) { return {task.kind, by_size ? task.bytes : 0}; }

bool all_tell_sizes(const std::vector<Membership>& parts, std::uint64_t ordinal) {
  return std::all_of(parts.begin(), parts.end(), [&](const Membership& part) {
    return std::none_of(part.of->tasks.begin(), part.of->tasks.end(), [&](const log::Task& task) {
      return task.ordinal == ordinal && task.bytes == 0;
    });
  });
}

// Tables of a box are as old as that at most.
constexpr Ns kTablesAge = 3'000'000'000;

// Of a communicator: those that were given fewest collectives. Some of them, where there are many.
struct Fewest {
  std::uint64_t given = 0;
  std::vector<std::size_t> members;
};

Fewest fewest_of(const std::vector<Membership>& parts) {
  constexpr std::size_t kMostOfFewest = 8;
  Fewest out;
  for (const Membership& part : parts) {
    if (part.of->given == 0 || (out.given != 0 && part.of->given > out.given)) continue;
    if (part.of->given != out.given) out = {part.of->given, {}};
    if (out.members.size() < kMostOfFewest) out.members.push_back(part.member);
  }
  return out;
}

// It was given a collective that these were not: over the network or inside of the node it waits
// for them.
std::vector<std::size_t> waits_for_ranks(const Picture& picture, const Membership& own,
                                         const Fewest& fewest) {
  if (own.of->tasks.empty() || own.of->closed_ns != 0) return {};
  const auto& task = own.of->tasks.front();
  if (task.ordinal <= fewest.given || task.changed_ns == 0 ||
      (task.ops != 0 && task.ops == task.ops_done))
    return {};
  const Ns since = picture.at(own.member, task.changed_ns) + kTablesAge;
  std::vector<std::size_t> out;
  std::copy_if(fewest.members.begin(), fewest.members.end(), std::back_inserter(out),
               [&](std::size_t other) { return since <= picture.members[other].last; });
  return out;
}

std::map<std::size_t, std::set<std::size_t>> waits_in(const Picture& picture,
                                                      const Communicators& all) {
  std::map<std::size_t, std::set<std::size_t>> out;
  for (const auto& [comm, parts] : all) {
    const Fewest fewest = fewest_of(parts);
    for (const auto& part : parts)
      for (const auto other : waits_for_ranks(picture, part, fewest))
        out[part.member].insert(other);
  }
  return out;
}

// Those that come late to other communicators because of what they wait for.
std::set<std::size_t> held_ones(const Picture& picture, const Communicators& all) {
  std::set<std::size_t> out;
  for (std::size_t i = 0; i < picture.members.size(); ++i) {
    const auto& own = picture.members[i].log->communicators;
    if (std::any_of(own.begin(), own.end(),
                    [](const auto& one) { return one.second.waits_in.has_value(); }))
      out.insert(i);
  }
  for (const auto& [member, others] : waits_in(picture, all)) out.insert(member);
  return out;
}

// The earliest that somebody is inside.
std::optional<std::uint64_t> earliest_inside(const std::vector<Membership>& parts) {
  std::optional<std::uint64_t> out;
  for (const auto& part : parts)
    if (part.of->waits_in && part.of->waits_in->ordinal != 0)
      out = std::min(out.value_or(part.of->waits_in->ordinal), part.of->waits_in->ordinal);
  return out;
}

std::optional<Apart> mismatch_at(const std::vector<Membership>& parts, std::uint64_t ordinal) {
  std::map<Same, Stand> stands;
  const bool by_size = all_tell_sizes(parts, ordinal);
  std::size_t inside = 0;
  for (const auto& part : parts) {
    inside += part.of->waits_in && part.of->waits_in->ordinal == ordinal;
    for (const auto& task : part.of->tasks)
      if (task.ordinal == ordinal) {
        auto& stand = stands[same(task, by_size)];
        stand.task = task;
        stand.members.push_back(part.member);
      }
  }
  if (stands.size() < 2) return std::nullopt;
  std::vector<Stand> order;
  for (auto& [what, stand] : stands) order.push_back(std::move(stand));
  std::stable_sort(order.begin(), order.end(), [](const Stand& a, const Stand& b) {
    return a.members.size() > b.members.size();
  });
  Apart out;
  out.kind = Apart::Kind::kMismatched;
  out.most = std::move(order[0]);
  out.others = std::move(order[1]);
  out.inside = inside;
  return out;
}

// From 2.28 on NCCL tells of each call, and so a rank's count is all that its program has called.
bool counts_calls(const Picture& picture, const Membership& part) {
  constexpr int kTellsOfCalls = 22800;
  return part.of->given != 0 &&
         log::version_code(picture.members[part.member].log->nccl_version) >= kTellsOfCalls;
}

// Of those that are late and whose calls are counted, who has called fewest keeps the others.
void keep_fewest(const Picture& picture, std::vector<const Membership*>& late) {
  if (late.empty() || !std::all_of(late.begin(), late.end(), [&](const Membership* part) {
        return counts_calls(picture, *part);
      }))
    return;
  const auto given = [](const Membership* part) { return part->of->given; };
  const auto fewest = std::ranges::min(late, {}, given);
  std::erase_if(late, [&](const Membership* part) { return given(part) != given(fewest); });
}

// Its last collective was done with the network: what it has left to send is no wait inside of it.
bool is_done(const Membership& part) {
  const auto& tasks = part.of->tasks;
  return !part.of->waits_in && !tasks.empty() && tasks.front().ordinal == part.of->given &&
         tasks.front().ops != 0 && tasks.front().ops == tasks.front().ops_done;
}

// For how long nothing moves where that is a wait, though nobody tells of one.
constexpr Ns kUnmoved = 10'000'000'000;

// Since when those that are at that collective or beyond it have moved nothing; 0: they have.
Ns unmoved_since(const Picture& picture, const std::vector<Membership>& parts,
                 std::uint64_t ordinal) {
  Ns out = 0;
  for (const auto& part : parts) {
    if (part.of->tasks.empty() || part.of->tasks.front().ordinal < ordinal) continue;
    const auto changed_ns = part.of->tasks.front().changed_ns;
    const Ns changed = picture.at(part.member, changed_ns);
    if (changed_ns == 0 || changed + kUnmoved > picture.members[part.member].last) return 0;
    out = std::max(out, changed);
  }
  return out;
}

// Who waits is not late: somebody else keeps it.
std::optional<Apart> behind(const Picture& picture, const std::vector<Membership>& parts,
                            std::uint64_t ordinal, const Waiting& waiting,
                            const std::set<std::size_t>& held) {
  Apart out;
  std::vector<const Membership*> late;
  for (const auto& part : parts) {
    const auto& of = *part.of;
    if (of.waits_in && of.waits_in->ordinal == ordinal) {
      out.most.task = *of.waits_in;
      out.most.members.push_back(part.member);
      continue;
    }
    const bool is_late =
        !of.tasks.empty() && of.tasks.front().ordinal != 0 && of.tasks.front().ordinal < ordinal;
    const bool waits = waiting.for_data.contains(part.member) ||
                       (waiting.all.contains(part.member) && !is_done(part));
    if (is_late && !waits && !held.contains(part.member)) late.push_back(&part);
  }
  keep_fewest(picture, late);
  for (const Membership* part : late) {
    const auto& last = part->of->tasks.front();
    if (last.ordinal > out.others.task.ordinal) out.others.task = last;
    out.others.members.push_back(part->member);
  }
  out.inside = out.most.members.size();
  if (out.others.members.empty()) return std::nullopt;
  out.since = unmoved_since(picture, parts, ordinal);
  return out;
}

// It was aborted while a collective was under way.
bool gave_up(const log::Communicator& of) {
  return of.closed_ns != 0 && of.finished != 0 && of.finished < of.given;
}

// No request of its had been under way for long as it closed its connections: what it closed them
// for was nobody's being late. Where it had none at all, a neighbour of its node may have been.
bool hardly_waited(const Picture& picture, std::size_t index) {
  constexpr double kWaitedUs = 2e6;
  std::optional<double> oldest;
  bool closed = false, in_flight = false;
  for (const auto& [number, connection] : picture.members[index].log->connections) {
    if (!connection.closed) continue;
    closed = true;
    in_flight = in_flight || connection.in_flight.value_or(1) != 0;
    if (connection.in_flight.value_or(0) != 0 && connection.oldest_us)
      oldest = std::max(oldest.value_or(0), *connection.oldest_us);
  }
  if (!in_flight) return closed && picture.host_of(index).members.size() == 1;
  return oldest && *oldest < kWaitedUs;
}

using log::Calls;

// Of one that was closed: the collectives that it was given.
const Calls* calls_of(const Membership& part) {
  return part.of->closed_ns != 0 && !part.of->calls.empty() ? &part.of->calls : nullptr;
}

// What one was given more than the other.
Calls without(const Calls& one, const Calls& other) {
  Calls out;
  for (const auto& [call, count] : one) {
    const auto found = other.find(call);
    const std::uint64_t there = found == other.end() ? 0 : found->second;
    if (count > there) out[call] = count - there;
  }
  return out;
}
// Neither is how the other began.
bool contradict(const Calls& one, const Calls& other) {
  return !without(one, other).empty() && !without(other, one).empty();
}

// Its program came to its end, and this communicator's collectives were done.
bool was_done(const Picture& picture, const Membership& part) {
  const auto& summary = picture.members[part.member].log->summary;
  return summary && summary->exit_status == 0 && part.of->closed_ns != 0 &&
         part.of->finished == part.of->given;
}

// Of those that were closed: what all were given can't have been the same.
std::optional<Apart> unlike_calls(const Picture& picture, const std::vector<Membership>& parts) {
  std::map<Calls, std::vector<const Membership*>> by_calls;
  for (const auto& part : parts)
    if (const auto* calls = calls_of(part)) by_calls[*calls].push_back(&part);
  if (by_calls.size() < 2) return std::nullopt;
  Apart out;
  out.kind = Apart::Kind::kMismatched;
  out.by_calls = true;
  const auto most = std::max_element(
      by_calls.begin(), by_calls.end(),
      [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  for (const auto& [calls, same] : by_calls) {
    const bool other = contradict(calls, most->first) ||
                       (calls != most->first && was_done(picture, *same.front()) !=
                                                    was_done(picture, *most->second.front()));
    if (!other && calls != most->first) continue;
    Stand& stand = other ? out.others : out.most;
    if (other) {
      stand.calls = without(calls, most->first);
      out.most.calls = without(most->first, calls);
    }
    stand.exact = same.front()->of->exact_sizes;
    for (const auto* part : same) stand.members.push_back(part->member);
  }
  if (out.others.members.empty()) return std::nullopt;
  return out;
}

// Some of them gave up.
std::optional<Apart> mismatch_of_calls(const Picture& picture,
                                       const std::vector<Membership>& parts) {
  auto out = unlike_calls(picture, parts);
  if (!out) return std::nullopt;
  for (const auto& part : parts)
    if (gave_up(*part.of)) {
      const Ns at = picture.at(part.member, part.of->closed_ns);
      out->since = out->since == 0 ? at : std::min(out->since, at);
      ++out->inside;
    }
  return out->inside == 0 ? std::nullopt : out;
}

// Who gave up in the middle of one that others were never given waited for these.
std::optional<Apart> given_up(const Picture& picture, const std::vector<Membership>& parts,
                              const Waiting& waiting, const std::set<std::size_t>& held) {
  std::uint64_t most = 0;
  Apart out;
  for (const auto& part : parts)
    if (gave_up(*part.of) && !hardly_waited(picture, part.member))
      most = std::max(most, part.of->given);
  for (const auto& part : parts) {
    const auto& of = *part.of;
    if (of.given == most && gave_up(of)) {
      const Ns at = picture.at(part.member, of.closed_ns);
      out.since = out.since == 0 ? at : std::min(out.since, at);
      out.most.members.push_back(part.member);
    }
  }
  for (const auto& part : parts) {
    const auto& of = *part.of;
    const bool fewer = of.given != 0 && of.given < most && !gave_up(of);
    if (fewer && !held.contains(part.member) && !waiting.all.contains(part.member)) {
      out.others.members.push_back(part.member);
      out.others.task.ordinal = std::max(out.others.task.ordinal, of.given);
    }
  }
  if (out.most.members.empty() || out.others.members.empty()) return std::nullopt;
  out.most.task.ordinal = out.others.task.ordinal + 1;
  out.inside = out.most.members.size();
  return out;
}

// Some wait in a communicator, or stay where they are, and in others, which do not, the program has
// called fewer collectives.
std::optional<Apart> called_fewer(const Picture& picture, const std::vector<Membership>& parts,
                                  const Waiting& waiting, const std::set<std::size_t>& held) {
  std::uint64_t least = parts.front().of->given;
  int nranks = 0;
  for (const auto& part : parts) {
    if (!counts_calls(picture, part)) return std::nullopt;
    least = std::min(least, part.of->given);
    nranks = std::max(nranks, part.of->nranks.value_or(0));
  }
  if (parts.size() != static_cast<std::size_t>(nranks)) return std::nullopt;
  Apart out;
  out.by_counts = true;
  out.most.task.ordinal = least + 1;
  out.others.task.ordinal = least;
  for (const auto& part : parts) {
    const bool waits = waiting.all.contains(part.member);
    const bool fewer = part.of->given == least;
    if (fewer && ((waits && !is_done(part)) || waiting.for_data.contains(part.member) ||
                  gave_up(*part.of) || held.contains(part.member)))
      return std::nullopt;
    // Who is inside of what all have called may keep these.
    if (part.of->waits_in && part.of->waits_in->ordinal <= least) return std::nullopt;
    out.inside += waits && !fewer;
    Stand& stand = fewer ? out.others : out.most;
    stand.members.push_back(part.member);
    for (const auto& task : part.of->tasks)
      if (task.ordinal == stand.task.ordinal) stand.task = task;
  }
  if (out.inside == 0 && (out.since = unmoved_since(picture, parts, least + 1)) != 0)
    out.inside = out.most.members.size();
  if (out.inside == 0 || out.most.members.size() <= out.others.members.size()) return std::nullopt;
  // NCCL's own number comes when a collective begins; the count is what both have.
  out.most.task.seq.reset();
  out.others.task.seq.reset();
  return out;
}

// Since when, where it takes nobody's word for a wait: all ranks are at that collective, and it is
// another function for some. 0: not known.
Ns mismatched_since(const Picture& picture, const std::vector<Membership>& parts,
                    std::uint64_t ordinal, const Apart& apart) {
  int nranks = 0;
  Ns out = 0;
  for (const auto& part : parts) {
    nranks = std::max(nranks, part.of->nranks.value_or(0));
    if (part.of->tasks.empty()) return 0;
    const auto& task = part.of->tasks.front();
    if (task.ordinal != ordinal || task.changed_ns == 0) return 0;
    out = std::max(out, picture.at(part.member, task.changed_ns));
  }
  const bool all = parts.size() == static_cast<std::size_t>(nranks);
  return all && apart.most.task.kind != apart.others.task.kind ? out : 0;
}

}  // namespace

std::vector<Apart> apart_in_collectives(const Picture& picture, const Waiting& waiting) {
  std::vector<Apart> out;
  const auto all = communicators_of(picture);
  const auto held = held_ones(picture, all);
  for (const auto& [comm, parts] : all) {
    std::optional<Apart> one;
    const auto ordinal = earliest_inside(parts);
    if (ordinal) one = mismatch_at(parts, *ordinal);
    if (one) one->since = mismatched_since(picture, parts, *ordinal, *one);
    if (!one) one = mismatch_of_calls(picture, parts);
    if (!one && ordinal) one = behind(picture, parts, *ordinal, waiting, held);
    if (!one) one = given_up(picture, parts, waiting, held);
    if (!one) one = called_fewer(picture, parts, waiting, held);
    if (!one) continue;
    one->comm = comm;
    out.push_back(std::move(*one));
  }
  // Where somebody does what he mustn't, being late follows from that.
  std::stable_sort(out.begin(), out.end(), [](const Apart& a, const Apart& b) {
    return std::pair(a.kind, a.inside) > std::pair(b.kind, b.inside);
  });
  return out;
}

std::map<std::size_t, std::set<std::size_t>> waits_by_collectives(const Picture& picture) {
  return waits_in(picture, communicators_of(picture));
}

std::vector<Apart> quiet_mismatches(const Picture& picture) {
  std::vector<Apart> out;
  for (const auto& [comm, parts] : communicators_of(picture)) {
    const auto given = parts.front().of->given;
    if (!std::all_of(parts.begin(), parts.end(), [&picture, given](const Membership& part) {
          return was_done(picture, part) && part.of->given == given;
        }))
      continue;
    auto one = unlike_calls(picture, parts);
    if (!one) continue;
    one->comm = comm;
    out.push_back(std::move(*one));
  }
  return out;
}

std::map<std::string, std::uint64_t> most_called(const Picture& picture) {
  std::map<std::string, std::uint64_t> out;
  for (const auto& [comm, parts] : communicators_of(picture))
    for (const auto& part : parts)
      if (counts_calls(picture, part)) out[comm] = std::max(out[comm], part.of->given);
  return out;
}

std::vector<Incomplete> incomplete_communicators(const Picture& picture) {
  std::vector<Incomplete> out;
  for (const auto& [comm, parts] : communicators_of(picture)) {
    Incomplete one;
    one.comm = comm;
    std::set<int> told;
    for (const auto& part : parts) {
      one.nranks = std::max(one.nranks, part.of->nranks.value_or(0));
      if (part.of->rank) told.insert(*part.of->rank);
    }
    if (told.size() < parts.size()) continue;
    // Who did not come to the communicator of all has a log all the same.
    if (one.nranks == picture.world_size)
      for (const Member& member : picture.members)
        if (member.log->communicators.empty() && member.log->launch.rank)
          told.insert(*member.log->launch.rank);
    if (static_cast<std::size_t>(one.nranks) <= told.size()) continue;
    constexpr std::size_t kMostNamed = 64;
    one.missing = static_cast<std::size_t>(one.nranks) - told.size();
    for (int rank = 0; rank < one.nranks && one.ranks.size() < kMostNamed; ++rank)
      if (!told.contains(rank)) one.ranks.insert(rank);
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace nnd::report
