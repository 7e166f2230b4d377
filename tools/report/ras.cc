#include "report/ras.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace nnd::report {

using foreign::RasCommunicator;
using foreign::RasRank;
using foreign::RasStatus;

namespace {

using Counts = std::map<std::string, std::uint64_t>;

constexpr int kSuccess = 0, kRemoteError = 6, kInProgress = 7;  // ncclResult_t

std::optional<Ras> gone_of(const RasCommunicator& of) {
  Ras out;
  const bool any_dead =
      std::any_of(of.missing.begin(), of.missing.end(), [](const auto& one) { return one.dead; });
  out.kind = any_dead ? Ras::Kind::kDead : Ras::Kind::kUnanswered;
  for (const auto& one : of.missing)
    if (one.dead == any_dead) out.gone.push_back(&one);
  return out.gone.empty() ? std::nullopt : std::optional(std::move(out));
}

// Those with an error of their own, else those that were told of another's.
std::optional<Ras> errors_of(const RasCommunicator& of) {
  Ras out;
  out.kind = Ras::Kind::kError;
  for (const bool told : {false, true}) {
    for (const auto& one : of.ranks) {
      const int error = one.async_error;
      if (error != kSuccess && error != kInProgress && (error == kRemoteError) == told)
        out.ranks.push_back(&one);
    }
    if (!out.ranks.empty()) return out;
  }
  return std::nullopt;
}

std::uint64_t total(const Counts& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0},
                         [](auto sum, const auto& one) { return sum + one.second; });
}

std::uint64_t count_of(const Counts& counts, const std::string& kind) {
  const auto found = counts.find(kind);
  return found == counts.end() ? 0 : found->second;
}

std::optional<Ras> apart_of(const RasCommunicator& of) {
  std::map<Counts, std::vector<const RasRank*>> by_counts;
  for (const auto& one : of.ranks) {
    if (one.aborted) return std::nullopt;
    by_counts[one.begun].push_back(&one);
  }
  if (by_counts.size() < 2) return std::nullopt;
  const auto most = std::max_element(by_counts.begin(), by_counts.end(), [](auto& a, auto& b) {
    return std::pair(a.second.size(), total(a.first)) < std::pair(b.second.size(), total(b.first));
  });
  auto other = by_counts.end();
  for (auto one = by_counts.begin(); one != by_counts.end(); ++one)
    if (one != most && (other == by_counts.end() || total(one->first) < total(other->first)))
      other = one;
  Ras out;
  out.ranks = other->second;
  out.others = most->second.size();
  for (const auto* counts : {&most->first, &other->first})
    for (const auto& [kind, begun] : *counts)
      if (out.collective.empty() && count_of(most->first, kind) != count_of(other->first, kind)) {
        out.collective = kind;
        out.begun = count_of(other->first, kind);
        out.by_others = count_of(most->first, kind);
      }
  return out;
}

bool have_begun_alike(const RasCommunicator& one, const RasCommunicator& other) {
  return std::equal(one.ranks.begin(), one.ranks.end(), other.ranks.begin(), other.ranks.end(),
                    [](const RasRank& a, const RasRank& b) {
                      return a.rank == b.rank && a.pid == b.pid && a.begun == b.begun;
                    });
}

// By the earliest answer that shows the same numbers.
std::int64_t stood_sec(const std::vector<RasStatus>& statuses, const RasStatus& last,
                       const RasCommunicator& of) {
  std::int64_t out = 0;
  for (const auto& earlier : statuses)
    for (const auto& one : earlier.communicators)
      if (one.hash == of.hash && earlier.at_sec != 0 && have_begun_alike(one, of))
        out = std::max(out, last.at_sec - earlier.at_sec);
  return out;
}

}  // namespace

bool Ras::found() const {
  constexpr std::int64_t kStands = 5;
  return kind != Kind::kApart || stood_sec >= kStands;
}

std::optional<Ras> ras_of(const std::vector<RasStatus>& statuses) {
  // Of two of one second the later file.
  const auto last = std::max_element(statuses.rbegin(), statuses.rend(),
                                     [](auto& a, auto& b) { return a.at_sec < b.at_sec; });
  if (last == statuses.rend()) return std::nullopt;
  std::optional<Ras> out;
  for (const auto& of : last->communicators)
    for (auto one : {gone_of(of), errors_of(of), apart_of(of)}) {
      if (!one) continue;
      one->status = &*last;
      one->of = &of;
      if (one->kind == Ras::Kind::kApart) one->stood_sec = stood_sec(statuses, *last, of);
      const auto order = [](const Ras& ras) { return std::pair(ras.kind, -ras.stood_sec); };
      if (!out || order(*one) < order(*out)) out = std::move(one);
    }
  return out;
}

}  // namespace nnd::report
