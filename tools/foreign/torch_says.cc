#include "foreign/torch_says.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "foreign/output_prefix.h"
#include "foreign/words.h"

namespace nnd::foreign {

using nccl_net_diag::Cause;

namespace {

constexpr std::size_t kLongestSaid = 200;  // of what is kept of a text

Fact failure(Cause cause, std::string detail) {
  Fact out;
  out.what = What::kFailure;
  out.source = Source::kOutput;
  out.cause = cause;
  out.detail = std::move(detail);
  return out;
}

// "[PG ID 4 PG GUID 10 Rank 1] Process group watchdog thread terminated with exception: CUDA error:
// device-side assert triggered": the process is ended by that. "[Rank 1] NCCL watchdog thread ..."
// before 2.4 (torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp).
std::optional<Fact> of_watchdog(std::string_view line) {
  const auto what = behind(line, "watchdog thread terminated with exception: ");
  if (!what || !what->starts_with("CUDA error: ")) return {};
  Fact out = failure(Cause::kCudaFail, std::string(what->substr(0, kLongestSaid)));
  out.writer.rank = marked_rank(line);
  if (!out.writer.rank) out.writer.rank = number_behind(line, "Rank ");
  return out;
}

// "Rank 1 is running collective: CollectiveFingerPrint(SequenceNumber=2811, OpType=ALLREDUCE,
// TensorShape=[195812480], ...)": "rank 1 called ALLREDUCE #2811 ([195812480])". The number is
// there from 2.1 on.
std::optional<std::string> called_in(std::string_view text) {
  const auto rank = number_behind(text, "Rank ");
  const auto print = behind(text, "CollectiveFingerPrint(");
  const auto kind = print ? behind(*print, "OpType=") : std::nullopt;
  if (!rank || !kind) return {};
  std::string out =
      fmt::format("rank {} called {}", *rank, kind->substr(0, kind->find_first_of(",)")));
  const auto own = print->substr(0, print->find("CollectiveFingerPrint("));
  if (const auto number = number_behind<std::int64_t>(own, "SequenceNumber="))
    out += fmt::format(" #{}", *number);
  if (const auto shape = behind(own, "TensorShape=["); shape && shape->find(']') < kLongestSaid)
    out += fmt::format(" ([{}])", shape->substr(0, shape->find(']')));
  return out;
}

// With TORCH_DISTRIBUTED_DEBUG=DETAIL each call is compared first
// (torch/csrc/distributed/c10d/ProcessGroupWrapper.cpp).
std::optional<Fact> of_wrapper(std::string_view line) {
  const auto told = behind(line, "Detected mismatch between collectives on ranks. ");
  if (!told) return {};
  const auto other = told->find("but Rank ");
  const auto first = called_in(*told);
  const auto second =
      other == std::string_view::npos ? std::nullopt : called_in(told->substr(other));
  if (!first || !second) return {};
  Fact out = failure(Cause::kIncColl, fmt::format("{}, and {}", *first, *second));
  out.writer.rank = number_behind(*told, "Rank ");
  return out;
}

}  // namespace

void TorchSays::take(std::string_view line, std::uint64_t number) const {
  auto fact = of_watchdog(line);
  if (!fact) fact = of_wrapper(line);
  if (!fact) return;
  fact->text = line.substr(0, kLongestSaid);
  fact->line = number;
  sink_(std::move(*fact));
}

}  // namespace nnd::foreign
