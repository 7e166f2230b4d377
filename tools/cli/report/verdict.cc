#include "cli/report/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "cli/common/number_list.h"
#include "cli/report/names.h"

namespace nnd::cli {

using report::Failure;
using report::Kind;
using report::Ns;
using report::Picture;
using report::Report;
using report::Sink;

namespace {

std::vector<std::size_t> members_of(const std::vector<report::Loss>& losses) {
  std::vector<std::size_t> out;
  for (const auto& loss : losses) out.push_back(loss.member);
  return out;
}

// "16 ranks on 2 hosts": what the job was.
std::string job_text(const Picture& picture) {
  return fmt::format("{} on {}", count_of(picture.members.size(), "process", "processes"),
                     count_of(picture.hosts.size(), "host", "hosts"));
}

std::string traffic_text(const Picture& picture) {
  std::size_t connections = 0;
  double bytes = 0;
  for (const auto& member : picture.members) {
    connections += member.log->connections.size();
    for (const auto& [number, connection] : member.log->connections)
      if (connection.dir == log::Direction::kSend)
        bytes += static_cast<double>(connection.bytes.value_or(0));
  }
  return fmt::format("{}, {} sent", count_of(connections, "connection", "connections"),
                     bytes_text(bytes));
}

std::string where_text(const Report& report) {
  if (report.culprits.empty()) return {};
  // A node, where it is the node's: its memory limit, not one of its HCAs'.
  if (!report.first.roots.empty() && report.first.roots[0].reach == report::Reach::kNode) {
    std::set<std::string> hosts;
    for (const auto& root : report.first.roots) hosts.insert(root.here.host);
    return list({hosts.begin(), hosts.end()});
  }
  std::vector<std::string> names;
  for (const auto& culprit : report.culprits) names.push_back(culprit_text(culprit));
  return fmt::format("{}", fmt::join(names, "; "));
}

std::string verdict_failed(const Report& report) {
  const auto& root = report.first.roots.front();
  const auto where = where_text(report);
  if (root.reach == report::Reach::kEcho)
    return fmt::format(
        "{} told first of a failure ({}), at {}: it only echoes what happened in a process whose "
        "log is not here.",
        who(report.picture, {root.member}), cause_text(root.told->cause), clock_text(root.at));
  if (const auto* sign = sign_of_culprit(report))
    return fmt::format(
        "{}: {}, at {}; {} later {} failed ({}).", where, cause_text(sign->told->cause),
        clock_text(sign->at), seconds(std::max<Ns>(root.at - sign->at, 0)),
        count_of(report.first.roots.size(), "request", "requests"), cause_text(root.told->cause));
  const char* unknown = report::other_ends_unknown(report)
                            ? " The processes at the other ends have no log here, or one that ends "
                              "before: they may have died."
                            : "";
  return fmt::format("{}{}, at {}; first told by {}.{}", where.empty() ? "" : where + ": ",
                     cause_text(root.told->cause), clock_text(root.at),
                     who(report.picture, {root.member}), unknown);
}

bool whole_hosts(const Picture& picture, const std::vector<report::Loss>& losses,
                 std::vector<std::string>& names) {
  std::set<std::size_t> lost;
  for (const auto& loss : losses) lost.insert(loss.member);
  std::size_t covered = 0;
  for (const auto& host : picture.hosts)
    if (std::all_of(host.members.begin(), host.members.end(),
                    [&](std::size_t member) { return lost.contains(member); })) {
      names.push_back(host.name);
      covered += host.members.size();
    }
  return covered == lost.size() && covered > names.size();
}

std::string verdict_lost(const Report& report) {
  const auto& losses = report.first.losses;
  const auto lost = members_of(losses);
  std::vector<std::string> hosts;
  const bool nodes = whole_hosts(report.picture, losses, hosts);
  const std::string names = nodes ? list(hosts) : who(report.picture, lost);
  if (losses[0].clean)
    return fmt::format(
        "not the network: {} ended by itself at {}, while others still waited for it.", names,
        clock_text(report.first.at));
  const auto ending = report.picture.members[lost[0]].ending;
  return fmt::format("not the network: {} died at {}{}, with nothing failed before.",
                     nodes && hosts.size() == 1 ? names + " with all its processes" : names,
                     clock_text(report.first.at),
                     ending == report::Ending::kCutOff ? " or later (its log just ends)" : "");
}

std::string verdict_missing(const Report& report) {
  const auto& missing = report.missing;
  return fmt::format(
      "{} of {} left no log{}: not started, died before NCCL's start, without the "
      "plugin, or not collected.",
      missing_text(missing), *missing.expected,
      report.waits.waits.empty() ? "" : ", and others wait");
}

std::string verdict_hang(const Report& report) {
  const auto& waits = report.waits;
  if (!waits.network.empty()) {
    const auto& first = waits.network.front();
    return fmt::format("{}: the network does not move what it was given ({}) since {}.",
                       where_text(report), first.stall->kind, clock_text(first.since));
  }
  std::set<std::size_t> waiting;
  for (const auto& wait : waits.waits)
    if (wait.stall->kind != "idle") waiting.insert(wait.member);
  const auto waiters = count_of(waiting.size(), "process waits", "processes wait");
  if (waits.sinks.empty())
    return fmt::format("{} since {}, and the logs don't show for whom.", waiters,
                       clock_text(waits.waits.front().since));
  const auto& sink = waits.sinks.front();
  if (sink.kind == Sink::Kind::kBehind || sink.kind == Sink::Kind::kMismatched)
    return fmt::format("not the network: {}; {}.", sink_text(report, sink), waiters);
  const char* prefix = report.blame == report::Blame::kNotNetwork ? "not the network: " : "";
  if (waiting.empty())
    return fmt::format("{}{}; nobody tells of a wait.", prefix, sink_text(report, sink));
  // Inside a node processes wait for each other without the network.
  if (sink.waiting < waiting.size())
    return fmt::format("{}{}; {}, {} of them for it as far as the network shows.", prefix,
                       sink_text(report, sink), waiters, sink.waiting);
  return fmt::format("{}{}; {} for it.", prefix, sink_text(report, sink), waiters);
}

std::string verdict_slow(const Report& report) {
  const auto& slow = report.slow.front();
  const std::string more =
      report.slow.size() > 1 ? fmt::format(" and {} more", report.slow.size() - 1) : "";
  return fmt::format("{}{} is slow: a send takes {:.1f} ms, usually {:.1f} ms.",
                     place_text(slow.place), more, slow.us / 1000, slow.usual_us / 1000);
}

std::string verdict_degraded(const Report& report) {
  if (!report.waits.passed.empty()) {
    const auto& first = report.waits.passed.front();
    return fmt::format("{}: stalled for {} at {} ({}), and went on.", where_text(report),
                       seconds(static_cast<Ns>(first.stall->age_us * 1000)),
                       clock_text(first.since), first.stall->kind);
  }
  const auto& first =
      *std::find_if(report.failures.begin(), report.failures.end(),
                    [](const Failure& failure) { return failure.warned || failure.recovered; });
  return fmt::format("{}: {} at {}, and the job went on.", place_text(first.here),
                     cause_text(first.told->cause), clock_text(first.at));
}

// What an idle process has not come to.
std::string is_behind(const Report& report, const Sink& sink) {
  if (!sink.apart) return {};
  const auto& apart = report.waits.apart[*sink.apart];
  return fmt::format(" and not come to {} of communicator {}", task_text(apart.most.task),
                     apart.comm);
}

}  // namespace

const Failure* sign_of_culprit(const Report& report) {
  if (report.culprits.empty()) return nullptr;
  const auto& place = report.culprits.front().place;
  for (const auto& sign : report.first.signs)
    if (sign.here.host == place.host && sign.here.dev == place.dev) return &sign;
  return nullptr;
}

std::string missing_text(const report::Missing& missing) {
  if (missing.ranks.empty())
    return count_of(static_cast<std::size_t>(missing.unnamed), "process", "processes");
  return rank_list(missing.ranks);
}

std::string task_text(const log::Task& task) {
  const std::string size = task.bytes == 0 ? "" : fmt::format(" ({} bytes)", task.bytes);
  return fmt::format("{} #{}{}", task.kind, task.seq.value_or(task.ordinal), size);
}

std::string apart_text(const Report& report, const report::Apart& apart) {
  const auto most = who(report.picture, apart.most.members);
  const auto others = who(report.picture, apart.others.members);
  if (apart.kind == report::Apart::Kind::kMismatched)
    return fmt::format("mismatched collectives in communicator {}: {} of {} is {} of {}",
                       apart.comm, task_text(apart.most.task), most, task_text(apart.others.task),
                       others);
  return fmt::format("{} came no further than {} in communicator {}, while {} {} in {}", others,
                     task_text(apart.others.task), apart.comm, most,
                     apart.most.members.size() == 1 ? "is" : "are", task_text(apart.most.task));
}

std::string sink_text(const Report& report, const Sink& sink) {
  const auto names = who(report.picture, sink.members);
  switch (sink.kind) {
    case Sink::Kind::kBehind:
    case Sink::Kind::kMismatched:
      return apart_text(report, report.waits.apart[*sink.apart]);
    case Sink::Kind::kIdle:
      return fmt::format("{} has asked the network for nothing since {}{}", names,
                         clock_text(sink.since), is_behind(report, sink));
    case Sink::Kind::kStopped:
      return fmt::format("{} does not run since {}: stopped, or its node hangs", names,
                         clock_text(sink.since));
    case Sink::Kind::kDied:
      return fmt::format("{} died at {}", names, clock_text(sink.since));
    case Sink::Kind::kLeft:
      return fmt::format("{} had ended by itself at {}", names, clock_text(sink.since));
    case Sink::Kind::kSilent:
      return fmt::format("{} says nothing of a wait; its last sign of life is of {}", names,
                         clock_text(sink.since));
    case Sink::Kind::kNoLog:
      return fmt::format("{} at {} has no log here",
                         sink.rank ? fmt::format("rank {}", *sink.rank) : "the process",
                         sink.address);
    case Sink::Kind::kNetwork:
      return fmt::format("{} waits for the network itself", names);
    case Sink::Kind::kCycle:
      return fmt::format("{} wait for each other", names);
  }
  return {};
}

std::string verdict(const Report& report) {
  switch (report.kind) {
    case Kind::kHealthy:
      return fmt::format("healthy: {} ended, {}, nothing failed.", job_text(report.picture),
                         traffic_text(report.picture));
    case Kind::kRunning:
      return fmt::format("healthy so far: {}, nothing failed and nothing waits.",
                         job_text(report.picture));
    case Kind::kEnded:
      return fmt::format(
          "not the network: {} ended together at {}, from outside, with nothing wrong before.",
          job_text(report.picture), clock_text(report.picture.last));
    case Kind::kFailed:
      return verdict_failed(report);
    case Kind::kLost:
      return verdict_lost(report);
    case Kind::kMissing:
      return verdict_missing(report);
    case Kind::kHang:
      return verdict_hang(report);
    case Kind::kSlow:
      return verdict_slow(report);
    case Kind::kDegraded:
      return verdict_degraded(report);
    case Kind::kCount:
      break;
  }
  return {};
}

const log::Diagnosis* first_told(const Report& report) {
  switch (report.kind) {
    case Kind::kFailed:
      if (const auto* sign = sign_of_culprit(report)) return sign->told;
      return report.first.roots.front().told;
    case Kind::kHang:
      return report.waits.network.empty() ? nullptr : &report.waits.network.front().stall->told;
    case Kind::kSlow:
      return report.slow.front().told != nullptr ? &report.slow.front().told->told : nullptr;
    case Kind::kDegraded: {
      if (!report.waits.passed.empty()) return &report.waits.passed.front().stall->told;
      for (const auto& failure : report.failures)
        if (failure.warned || failure.recovered) return failure.told;
      return nullptr;
    }
    default:
      return nullptr;
  }
}

std::string remedy(const Report& report) {
  if (const auto* told = first_told(report)) return told->fix;
  switch (report.kind) {
    case Kind::kLost:
      if (report.first.losses[0].clean)
        return "Look at what that process printed last: its program ended.";
      return "Look at what that process printed last, at its node's kernel log (OOM, Xid) and at "
             "the scheduler's.";
    case Kind::kMissing:
      return "Look at what the launcher says of them, and whether NCCL_NET_PLUGIN=diag and "
             "LD_LIBRARY_PATH reach them.";
    case Kind::kEnded:
      return "Look at who ended it: a time limit, the launcher, a user.";
    case Kind::kHang:
      return "Look at what those processes do (py-spy, gdb), and at which collective each is in.";
    case Kind::kSlow:
      return "Compare its link, its counters, its PCIe slot and its switch port with its "
             "siblings'.";
    default:
      return {};
  }
}

std::string named_cause(const Report& report) {
  const auto* told = first_told(report);
  return told != nullptr ? told->cause : "";
}

}  // namespace nnd::cli
