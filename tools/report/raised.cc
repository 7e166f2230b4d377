#include "report/raised.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <tuple>
#include <vector>

namespace nnd::report {

using foreign::Fact;

namespace {

enum class Nature : std::uint8_t { kOwn, kOpen, kEcho };

template <std::size_t N>
bool holds_any(const std::string& text, const std::array<const char*, N>& words) {
  return std::any_of(words.begin(), words.end(),
                     [&](const char* word) { return text.find(word) != std::string::npos; });
}

// PyTorch's names: torch/csrc/Exceptions.h, torch/distributed/elastic/multiprocessing.
Nature nature_of(const Fact& fact) {
  constexpr std::array kEchoes{
      "DistBackendError", "ChildFailedError", "SignalException", "NCCL", "ncclRemoteError",
      "ncclSystemError", "ncclInternalError", "ncclUnhandledCudaError", "Watchdog caught",
      "closed by peer", "reset by peer", "Broken pipe", "KeyboardInterrupt",
      // What ncclGetErrorString() says of others' failures (NCCL src/init.cc).
      "remote process exited or there was a network error", "unhandled system error",
      "unhandled cuda error", "internal error - please report"};
  constexpr std::array kSockets{
      "DistNetworkError", "DistStoreError",         "Connection", "onnect", "imeout",   "imed out",
      "No route to host", "Network is unreachable", "Gloo",       "gloo",   "TCPStore", "OSError"};
  if (holds_any(fact.text, kEchoes)) return Nature::kEcho;
  return holds_any(fact.text, kSockets) ? Nature::kOpen : Nature::kOwn;
}

// ".../attempt_1/2/error.json"
struct Path {
  std::string above;  // the attempt's, by which nodes are told apart
  int attempt = 0;
};

Path path_of(const std::string& file) {
  constexpr std::string_view kAttempt = "/attempt_";
  Path out;
  const auto at = file.rfind(kAttempt);
  if (at == std::string::npos) return out;
  out.above = file.substr(0, at);
  const char* const begin = file.data() + at + kAttempt.size();
  std::from_chars(begin, file.data() + file.size(), out.attempt);
  return out;
}

// The processes in "DataLoader worker (pid 12) is killed by signal: Killed." and "DataLoader worker
// (pid(s) 12, 13) exited unexpectedly" (torch/csrc/DataLoader.cpp, torch/utils/data/dataloader.py).
std::set<std::int64_t> workers_in(const std::string& text) {
  std::set<std::int64_t> out;
  constexpr std::string_view kWorker = "DataLoader worker (pid";
  auto at = text.find(kWorker);
  if (at == std::string::npos) return out;
  at += kWorker.size();
  if (text.compare(at, 3, "(s)") == 0) at += 3;
  const auto end = text.find(')', at);
  while ((at = text.find_first_of("0123456789", at)) < end) {
    std::int64_t pid = 0;
    const auto read = std::from_chars(text.data() + at, text.data() + text.size(), pid);
    if (read.ec != std::errc()) break;
    out.insert(pid);
    at = static_cast<std::size_t>(read.ptr - text.data());
  }
  return out;
}

const Fact* worker_killed(const foreign::Evidence& evidence, const Fact& raised) {
  const auto workers = workers_in(raised.text);
  for (const auto& fact : evidence.facts())
    if (fact.what == foreign::What::kKilled && workers.contains(fact.pid)) return &fact;
  return nullptr;
}

std::vector<const Fact*> raised_by(const foreign::Evidence& evidence, foreign::Source source) {
  std::vector<const Fact*> out;
  for (const auto& fact : evidence.facts())
    if (fact.what == foreign::What::kRaised && fact.source == source) out.push_back(&fact);
  return out;
}

// What a program meets when its collectives are given up is no exception of its own, and may be
// printed before the watchdog's line. Error files have times, and are of the process's end.
bool follows_timeout(const foreign::Evidence& evidence, const Raised& raised) {
  if (raised.told->source != foreign::Source::kOutput) return false;
  return std::any_of(evidence.facts().begin(), evidence.facts().end(), [&](const Fact& fact) {
    return fact.source == foreign::Source::kWatchdog &&
           (raised.ranks.empty() || raised.on_node || !fact.writer.rank ||
            raised.ranks.contains(*fact.writer.rank));
  });
}

}  // namespace

std::optional<Raised> raised_of(const foreign::Evidence& evidence) {
  constexpr std::int64_t kTogether = 2;  // seconds: times are whole ones, and clocks differ
  auto all = raised_by(evidence, foreign::Source::kErrorFile);
  int last = 0;
  for (const auto* fact : all) last = std::max(last, path_of(fact->file).attempt);
  std::erase_if(all, [&](const Fact* fact) { return path_of(fact->file).attempt != last; });
  const bool files = !all.empty();
  if (!files) all = raised_by(evidence, foreign::Source::kOutput);
  if (all.empty()) return {};
  auto earliest = all.front()->at_sec;
  for (const auto* fact : all) earliest = std::min(earliest, fact->at_sec);
  const auto order = [&](const Fact* fact) {
    return std::tuple(fact->at_sec > earliest + kTogether, nature_of(*fact), fact->at_sec,
                      files ? fact->writer.rank : std::nullopt, fact->line);
  };
  const auto* first = *std::min_element(
      all.begin(), all.end(), [&](const Fact* a, const Fact* b) { return order(a) < order(b); });
  Raised out;
  out.told = first;
  out.own = nature_of(*first) == Nature::kOwn;
  std::set<std::string> nodes;
  for (const auto* fact : all) {
    if (const auto path = path_of(fact->file); !path.above.empty()) nodes.insert(path.above);
    if (fact->text == first->text && fact->place == first->place && fact->writer.rank &&
        fact->on_node == first->on_node)
      out.ranks.insert(*fact->writer.rank);
  }
  out.on_node = first->on_node;
  out.one_node = nodes.size() <= 1;
  out.ended = files || std::any_of(all.begin(), all.end(), [](const Fact* fact) {
                return nature_of(*fact) == Nature::kEcho;
              });
  if (follows_timeout(evidence, out)) out.own = false;
  out.worker = worker_killed(evidence, *first);
  return out;
}

}  // namespace nnd::report
