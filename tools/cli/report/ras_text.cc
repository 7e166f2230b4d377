#include "cli/report/ras_text.h"

#include <fmt/format.h>

#include <array>
#include <set>
#include <vector>

#include "cli/common/number_list.h"

namespace nnd::cli {

using report::Ras;

namespace {

// ncclResult_t of nccl.h.
std::string result_text(int result) {
  constexpr std::array kNames{"ncclSuccess",       "ncclUnhandledCudaError", "ncclSystemError",
                              "ncclInternalError", "ncclInvalidArgument",    "ncclInvalidUsage",
                              "ncclRemoteError",   "ncclInProgress",         "ncclTimeout"};
  const bool known = result >= 0 && static_cast<std::size_t>(result) < kNames.size();
  return known ? fmt::format("{} ({})", kNames[static_cast<std::size_t>(result)], result)
               : std::to_string(result);
}

// The first with its place, where it is alone.
template <typename Rank>
std::string rank_names(const std::vector<const Rank*>& ranks) {
  if (ranks.size() == 1)
    return fmt::format("rank {} ({}, pid {})", ranks.front()->rank, ranks.front()->host,
                       ranks.front()->pid);
  std::set<int> numbers;
  for (const auto* one : ranks) numbers.insert(one->rank);
  return rank_list(numbers);
}

std::string what_text(const Ras& ras) {
  const bool alone = ras.gone.size() + ras.ranks.size() == 1;
  switch (ras.kind) {
    case Ras::Kind::kDead:
      return fmt::format("{} {} dead to RAS: nothing there answers any more", rank_names(ras.gone),
                         alone ? "is" : "are");
    case Ras::Kind::kUnanswered:
      return fmt::format("{} did not answer RAS: stopped, hung or just ended",
                         rank_names(ras.gone));
    case Ras::Kind::kError:
      return fmt::format("{} {} an asynchronous error, {}", rank_names(ras.ranks),
                         alone ? "has" : "have", result_text(ras.ranks.front()->async_error));
    case Ras::Kind::kApart:
      break;
  }
  return fmt::format("{} {} begun {} {}, {} other {} {}{}", rank_names(ras.ranks),
                     alone ? "has" : "have", ras.begun, ras.collective, ras.others,
                     ras.others == 1 ? "rank" : "ranks", ras.by_others,
                     ras.stood_sec != 0 ? fmt::format(", unchanged for {} s", ras.stood_sec) : "");
}

}  // namespace

std::string ras_text(const Ras& ras) {
  return fmt::format("{} (communicator {} of {} ranks, at {} there)", what_text(ras), ras.of->hash,
                     ras.of->size, ras.status->time);
}

std::string ras_remedy(const Ras& ras) {
  switch (ras.kind) {
    case Ras::Kind::kDead:
    case Ras::Kind::kUnanswered:
      return "Look at what that process printed last, and at its node: RAS does not tell why.";
    case Ras::Kind::kError:
      return "Look at those ranks' output for NCCL WARN: it names the device and the peer.";
    case Ras::Kind::kApart:
      break;
  }
  return fmt::format(
      "Look at where the programs of {} and of another rank are (py-spy dump): they have not "
      "called the same, or one is held in its last collective.",
      rank_names(ras.ranks));
}

nlohmann::json ras_json(const Ras& ras) {
  constexpr std::array kNames{"dead", "error", "unanswered", "apart"};
  nlohmann::json out{{"kind", kNames.at(static_cast<std::size_t>(ras.kind))},
                     {"file", ras.status->file},
                     {"communicator", ras.of->hash},
                     {"nranks", ras.of->size},
                     {"ranks", nlohmann::json::array()},
                     {"stood_sec", ras.stood_sec},
                     {"text", ras_text(ras)}};
  for (const auto* one : ras.ranks) out["ranks"].push_back(one->rank);
  for (const auto* one : ras.gone) out["ranks"].push_back(one->rank);
  return out;
}

}  // namespace nnd::cli
