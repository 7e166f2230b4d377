#include "report/named.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "report/report.h"

namespace nnd::report {

namespace {

// Who waits is told by the logs, and for whom is not.
bool is_open(const Report& report) {
  if (report.kind != Kind::kHang || !report.waits.network.empty() || report.difference)
    return false;
  if (report.waits.sinks.empty()) return !report.stuck_making;
  const Sink::Kind kind = report.waits.sinks.front().kind;
  return kind == Sink::Kind::kNoLog || kind == Sink::Kind::kSilent ||
         (kind == Sink::Kind::kCycle && report.blame == Blame::kOpen);
}

// Of what happened in processes whose logs are not here.
bool only_tells_of_others(const Report& report) {
  const auto& roots = report.first.roots;
  return other_ends_unknown(report.picture, roots) ||
         std::all_of(roots.begin(), roots.end(),
                     [](const Failure& root) { return root.reach == Reach::kEcho; });
}

// What the logs themselves show of a job of which not all are here may be the job's own end.
bool may_be_told_better(const Report& report) {
  if (report.difference || report.own_words || report.ended_by_kernel) return false;
  if (is_open(report)) return true;
  if (!report.missing.any()) return false;
  switch (report.kind) {
    case Kind::kHealthy:
    case Kind::kEnded:
    case Kind::kMissing:
    case Kind::kLost:
      return true;
    case Kind::kHang:
      return report.waits.network.empty();
    case Kind::kFailed:
      return !report.rails && only_tells_of_others(report);
    default:
      return false;
  }
}

// What failed because of another process is told by what that one failed of, or by its end where
// it is the very process at the other end.
bool explains_failure(const Report& report, const log::Awaited& awaited) {
  const auto& members = report.picture.members;
  if (std::any_of(members.begin(), members.end(),
                  [&](const Member& member) { return member.log->proc == awaited.proc; }))
    return false;
  if (awaited.kind == "port" || awaited.kind == "failed") return true;
  if (awaited.kind != "ended" && awaited.kind != "gone") return false;
  const auto& roots = report.first.roots;
  return std::all_of(roots.begin(), roots.end(), [&](const Failure& root) {
    return root.reach == Reach::kEcho ||
           (proves_a_death(root) && root.told->peer.proc == awaited.proc);
  });
}

// Whom it waited for has come after all.
bool came_to_its_end(const log::Process& log) {
  return log.summary && log.summary->exit_status == 0 && log.summary->pending == 0;
}

const log::Diagnosis* difference_told(const Picture& picture, const log::Awaited& pair) {
  if (pair.kind != "pair") return nullptr;
  for (const Member& member : picture.members)
    for (const log::Diagnosis& told : member.log->diagnoses) {
      if (told.event != nccl_net_diag::event_name(log::EventId::kPeerDiffers)) continue;
      const std::string &one = member.log->proc, &other = told.peer.proc;
      if ((one == pair.proc && other == pair.other_proc) ||
          (other == pair.proc && one == pair.other_proc))
        return &told;
    }
  return nullptr;
}

}  // namespace

std::optional<ToldRoot> told_root_of(const Report& report) {
  if (!may_be_told_better(report)) return std::nullopt;
  std::map<std::tuple<std::string, std::string, std::string>, ToldRoot> said;
  const auto& members = report.picture.members;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const log::Process& log = *members[i].log;
    if (!log.job_stall || log.awaited.kind.empty() || came_to_its_end(log)) continue;
    if (report.kind == Kind::kFailed && !explains_failure(report, log.awaited)) continue;
    ToldRoot& one = said[{log.awaited.kind, log.awaited.proc, log.awaited.other_proc}];
    const Ns at = report.picture.at(i, log.job_stall->mono_ns);
    const bool first = one.tellers.empty() || at < one.at;
    one.tellers.insert(first ? one.tellers.begin() : one.tellers.end(), i);
    if (!first) continue;
    one.at = at;
    one.awaited = &log.awaited;
    one.told = &*log.job_stall;
  }
  const auto most = std::max_element(said.begin(), said.end(), [](const auto& a, const auto& b) {
    return a.second.tellers.size() < b.second.tellers.size();
  });
  if (most == said.end()) return std::nullopt;
  most->second.differs = difference_told(report.picture, *most->second.awaited);
  return std::move(most->second);
}

}  // namespace nnd::report
