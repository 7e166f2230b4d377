#include "foreign/watchdog.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "foreign/words.h"

namespace nnd::foreign {

namespace {

std::string text_behind(std::string_view line, std::string_view word) {
  const auto at = line.find(word);
  if (at == std::string_view::npos) return {};
  const auto begin = at + word.size();
  return std::string(line.substr(begin, line.find_first_of(",)", begin) - begin));
}

// "[PG ID 0 PG GUID 0(default_pg) Rank 7] ", "[Rank 7] ", "[TC][rank=7][name=0] "
std::optional<int> rank_in(std::string_view line) {
  auto at = line.find("Rank ");
  if (at == std::string_view::npos) at = line.find("rank=");
  if (at == std::string_view::npos) return {};
  int out = 0;
  const char* const begin = line.data() + at + 5;
  const char* const all = line.data() + line.size();
  const auto [end, error] = std::from_chars(begin, all, out);
  const bool whole = error == std::errc() && end != all && *end == ']';
  return whole && out >= 0 ? std::optional(out) : std::nullopt;
}

// The group's description, as its dump has it too.
std::string group_in(std::string_view line) {
  const auto rank = line.find(" Rank ");
  const auto open = line.find("[PG");
  if (rank == std::string_view::npos || open == std::string_view::npos || open > rank) return {};
  const auto words = line.substr(open + 1, rank - open - 1);
  const auto paren = words.find('(');
  if (paren == std::string_view::npos || !words.ends_with(')')) return std::string(words);
  return std::string(words.substr(paren + 1, words.size() - paren - 2));
}

constexpr int kMostRanks = 1 << 17;

// The first that a program makes has all of its ranks.
bool has_all_ranks(const std::string& group) {
  return group == "default_pg" || group == "PG 0" || group == "PG ID 0 PG GUID 0";
}

}  // namespace

void Watchdog::note_timeout(std::string_view line, std::uint64_t number, int rank) {
  const auto known = std::any_of(timeouts_.begin(), timeouts_.end(),
                                 [&](const Fact& fact) { return fact.writer.rank == rank; });
  if (known) return;
  Fact fact;
  fact.source = Source::kWatchdog;
  fact.writer.rank = rank;
  fact.text = line;
  fact.line = number;
  timeouts_.push_back(std::move(fact));
}

// torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp of PyTorch 2.7.1 and 2.15.0, where torch.comms
// ("[TC]") says less.
void Watchdog::take(std::string_view line, std::uint64_t number) {
  if (line.find("ProcessGroupNCCL") == std::string_view::npos) return;
  const auto rank = rank_in(line);
  if (!rank) return;
  if (line.find("Watchdog caught collective operation timeout") != std::string_view::npos) {
    FlightCall call;
    call.seq = number_behind<std::int64_t>(line, "SeqNum=").value_or(0);
    call.what = text_behind(line, "OpType=");
    if (const auto count = number_behind<std::int64_t>(line, "NumelIn="))
      call.sizes = fmt::format("[{}]", *count);
    note_timeout(line, number, *rank);
    if (!call.what.empty()) timed_out_.emplace(*rank, std::move(call));
    return;
  }
  if (line.find("watchdog detected operation timeout") != std::string_view::npos)
    note_timeout(line, number, *rank);
  auto enqueued = number_behind<std::int64_t>(line, "last enqueued work: ");
  auto completed = number_behind<std::int64_t>(line, "last completed work: ");
  if (!enqueued) enqueued = number_behind<std::int64_t>(line, "ast enqueued NCCL work: ");
  if (!completed) completed = number_behind<std::int64_t>(line, "last completed NCCL work: ");
  const auto group = group_in(line);
  if (!enqueued || !completed || group.empty()) return;
  auto& told = told_[{*rank, group}];
  told.enqueued = std::max(told.enqueued, *enqueued);
  told.completed = std::max(told.completed, *completed);
}

// Releases before 2.3 print no group. That all wait in the same step of one is taken for known
// where they have its number and its kind; another size there is a mismatch, but for low numbers,
// which several groups may have.
bool Watchdog::in_one_group() const {
  if (!told_.empty() || timed_out_.empty() || timed_out_.rbegin()->first > kMostRanks) return false;
  constexpr std::int64_t kHigh = 100;
  const auto& first = timed_out_.begin()->second;
  return std::all_of(timed_out_.begin(), timed_out_.end(), [&](const auto& one) {
    const FlightCall& call = one.second;
    return call.seq == first.seq && call.what == first.what &&
           (call.sizes == first.sizes || call.seq >= kHigh);
  });
}

std::vector<FlightDump> Watchdog::dumps(const std::string& file) const {
  constexpr std::int64_t kMost = 64;  // that may be compared
  std::vector<FlightDump> out;
  if (in_one_group())
    for (const auto& [rank, call] : timed_out_) {
      auto& dump = out.emplace_back();
      dump.rank = rank;
      dump.file = file;
      dump.by_watchdog = true;
      auto& group = dump.groups.emplace_back();
      group.name = group.description = "their process group";
      group.unfinished = {call};
      group.last = call;
    }
  if (!out.empty()) {
    auto& ranks = out.front().groups.front().ranks;
    ranks.resize(static_cast<std::size_t>(timed_out_.rbegin()->first) + 1);
    std::iota(ranks.begin(), ranks.end(), 0);
  }
  std::set<std::string_view> whole;
  const int highest = told_.empty() ? 0 : std::min(told_.rbegin()->first.first, kMostRanks);
  for (const auto& [key, told] : told_) {
    if (out.empty() || out.back().rank != key.first) {
      out.emplace_back().rank = key.first;
      out.back().file = file;
      out.back().by_watchdog = true;
    }
    auto& group = out.back().groups.emplace_back();
    group.name = group.description = key.second;
    const auto timed_out = timed_out_.find(key.first);
    const auto call = [&](std::int64_t seq) {
      FlightCall one;
      one.seq = seq;
      if (timed_out != timed_out_.end() && timed_out->second.seq == seq) one = timed_out->second;
      return one;
    };
    const auto first = std::max<std::int64_t>(told.completed, 0);
    for (auto seq = first + 1; seq <= told.enqueued && seq - first <= kMost; ++seq)
      group.unfinished.push_back(call(seq));
    group.last = call(std::max<std::int64_t>(told.enqueued, 0));
    if (has_all_ranks(key.second) && whole.insert(key.second).second) {  // once says it
      group.ranks.resize(static_cast<std::size_t>(highest) + 1);
      std::iota(group.ranks.begin(), group.ranks.end(), 0);
    }
  }
  return out;
}

}  // namespace nnd::foreign
