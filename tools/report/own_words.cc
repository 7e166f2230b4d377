#include "report/own_words.h"

#include <algorithm>
#include <map>
#include <utility>

#include "foreign/nccl_text.h"
#include "report/ends.h"
#include "report/report.h"

namespace nnd::report {

namespace {

using nccl_net_diag::Cause;

// NCCL tells of these without the network; what else it warns of has events of its own, or follows
// from what other ranks do.
std::optional<Cause> cause_of(const std::string& warning) {
  std::optional<Cause> out;
  foreign::NcclText reader([&](foreign::Fact&& fact) { out = fact.cause; });
  // Some of NCCL's sentences end with a stop, which the event is written without.
  for (const char* stop : {"", "."})
    if (!out) reader.take("host:1:1 [0] NCCL WARN " + warning + stop, 1);
  if (!out) return std::nullopt;
  switch (*out) {
    case Cause::kDupGpu:
    case Cause::kLimShm:
    case Cause::kIncShm:
    case Cause::kIncRanks:
    case Cause::kIncVersion:
    case Cause::kCudaFail:
    case Cause::kGpuNvls:
      return out;
    default:
      return std::nullopt;
  }
}

// Those of one host with one GPU; the first such.
std::vector<std::size_t> sharers_of(const Picture& picture, std::string& gpu) {
  std::map<std::pair<std::size_t, std::string>, std::vector<std::size_t>> users;
  for (std::size_t i = 0; i < picture.members.size(); ++i) {
    const Member& one = picture.members[i];
    const auto own = one.log->facts.find("cuda.current");
    if (own != one.log->facts.end()) users[{one.host, own->second}].push_back(i);
  }
  for (const auto& [where, members] : users)
    if (members.size() > 1) {
      gpu = where.second;
      return members;
    }
  return {};
}

// Its first collective failed, or it came to none.
bool moved_nothing(const log::Process& process) {
  return process.summary->sent == 0 &&
         std::none_of(process.connections.begin(), process.connections.end(),
                      [](const auto& one) { return one.second.bytes.value_or(0) != 0; });
}

}  // namespace

std::optional<OwnWords> own_words_of(const Report& report) {
  const bool may_be = report.kind == Kind::kLost || report.kind == Kind::kEnded ||
                      report.kind == Kind::kHealthy || report.kind == Kind::kMissing;
  if (!may_be || report.difference) return std::nullopt;
  const auto& members = report.picture.members;
  const auto is_lost = [&](std::size_t member) {
    const auto& losses = report.first.losses;
    return report.kind == Kind::kLost &&
           std::any_of(losses.begin(), losses.end(),
                       [&](const Loss& one) { return one.member == member && one.clean; });
  };
  std::optional<OwnWords> out;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const log::Process& log = *members[i].log;
    if (!log.summary || log.summary->nccl_warning.empty() || !tells_of_failure(log)) continue;
    if (!moved_nothing(log) && !is_lost(i)) continue;
    const auto cause = cause_of(log.summary->nccl_warning);
    if (!cause || (out && out->cause != *cause)) continue;
    if (!out) out = OwnWords{*cause, log.summary->nccl_warning, {}, ""};
    out->members.push_back(i);
  }
  if (out && out->cause == Cause::kDupGpu)
    if (auto sharers = sharers_of(report.picture, out->gpu); !sharers.empty())
      out->members = std::move(sharers);
  return out;
}

}  // namespace nnd::report
