#include "cli/report/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <string>
#include <vector>

#include "cli/common/gid_text.h"
#include "cli/common/number_list.h"
#include "cli/common/time_text.h"
#include "cli/report/difference_text.h"
#include "cli/report/kernel_text.h"
#include "cli/report/lost_text.h"
#include "cli/report/named_text.h"
#include "cli/report/names.h"
#include "cli/report/sink_text.h"
#include "cli/report/warned.h"
#include "nccl_net_diag/causes.h"

namespace nnd::cli {

using report::Failure;
using report::Kind;
using report::Ns;
using report::Picture;
using report::Report;
using report::Sink;

namespace {

std::string traffic_text(const Picture& picture) {
  std::size_t connections = 0;
  double bytes = 0;
  for (const auto& member : picture.members) {
    connections += member.log->connections.size();
    if (member.log->summary) {  // which knows those that were never closed
      bytes += static_cast<double>(member.log->summary->sent);
      continue;
    }
    for (const auto& [number, connection] : member.log->connections)
      if (connection.dir == log::Direction::kSend)
        bytes += static_cast<double>(connection.bytes.value_or(0));
  }
  return fmt::format("{}, {} sent", count_of(connections, "connection", "connections"),
                     bytes_text(bytes));
}

// The other ends of all that failed, where only their addresses are known: these may be the guilty
// ones.
std::string only_addresses(const Report& report) {
  std::set<std::string> all;
  for (const auto& root : report.first.roots) {
    const bool known = root.reach != report::Reach::kPair || !root.there.dev.empty();
    if (known || root.told->peer.gid.empty()) return {};
    all.insert(without_mapping(root.told->peer.gid));
  }
  return list({all.begin(), all.end()});
}

// Only this end of a pair is known, and the other one may be at fault: no place is named.
bool knows_one_end(const Report& report) {
  const auto& roots = report.first.roots;
  return report.blame == report::Blame::kOpen && !roots.empty() &&
         std::all_of(roots.begin(), roots.end(), [](const Failure& root) {
           return root.reach == report::Reach::kPair && root.there.dev.empty() &&
                  root.told->peer.gid.empty();
         });
}

std::string where_text(const Report& report) {
  if (report.culprits.empty() || knows_one_end(report)) return {};
  if (report.crosses_rails) {
    const auto& root = report.first.roots.front();
    const auto [one, other] = std::minmax(root.here.subnet, root.there.subnet);
    return fmt::format("between the rails {} and {}", one, other);
  }
  // A node, where it is the node's: its memory limit, not one of its HCAs'.
  if (!report.first.roots.empty() && report.first.roots[0].reach == report::Reach::kNode) {
    std::set<std::string> hosts;
    for (const auto& root : report.first.roots) hosts.insert(root.here.host);
    return list({hosts.begin(), hosts.end()});
  }
  std::vector<std::string> names;
  for (const auto& culprit : report.culprits) names.push_back(culprit_text(culprit));
  if (const auto addresses = only_addresses(report); !addresses.empty() && names.size() == 1)
    return fmt::format("between {} and {}", names[0], addresses);
  return fmt::format("{}", fmt::join(names, "; "));
}

// "; the port came back 3.2 s later", where it did.
// How often the port of a sign went down from then on, and whether it is up again.
std::string came_back(const Report& report, const Failure& sign) {
  const log::Process& log = *report.picture.members[sign.member].log;
  const auto is_later = [&](const log::Diagnosis& told) {
    return told.dev.name == sign.told->dev.name && told.dev.port == sign.told->dev.port &&
           told.mono_ns >= sign.told->mono_ns;
  };
  std::uint64_t last_down = sign.told->mono_ns;
  std::size_t downs = 0;
  for (const auto& told : log.diagnoses)
    if (told.event == "port.event" && told.cause == sign.told->cause && is_later(told) &&
        told.severity != log::Severity::kInfo) {
      ++downs;
      last_down = std::max(last_down, told.mono_ns);
    }
  const std::string often = downs > 1 ? fmt::format("; it went down {} times", downs) : "";
  for (const auto& up : log.port_ups)
    if (is_later(up) && up.mono_ns > last_down)
      return fmt::format("{}; the port came back {} {}", often,
                         seconds(static_cast<Ns>(up.mono_ns - last_down)),
                         downs > 1 ? "after the last" : "later");
  return downs > 1 ? often + ", and did not come back after the last" : often;
}

std::string verdict_of_sign(const Report& report, const Failure& sign) {
  const auto& roots = report.first.roots;
  const auto count = count_of(roots.size(), "request", "requests");
  const auto& cause = roots.front().told->cause;
  const std::string what = cause == sign.told->cause
                               ? fmt::format("; {} failed of it", count)
                               : fmt::format("; {} later {} failed ({})",
                                             seconds(std::max<Ns>(roots.front().at - sign.at, 0)),
                                             count, cause_text(cause));
  return fmt::format("{}: {}, at {}{}{}.", where_text(report), cause_text(sign.told->cause),
                     time_text(sign.at), what, came_back(report, sign));
}

// An HCA and an address in another network, either of which may be wrong.
std::string rails_text(const Failure& root, const report::RailsApart& rails) {
  const std::string other = rails.dev.empty() ? "" : fmt::format(", that of {} here", rails.dev);
  return fmt::format("{} is in {}, and was to reach {}{}{}", root.here.dev, root.here.subnet,
                     rails.address, rails.subnet.empty() ? "" : " in " + rails.subnet, other);
}

// The other ends' processes had ended, and have no log here.
bool follows_deaths_elsewhere(const Report& report) {
  const auto& roots = report.first.roots;
  return std::all_of(roots.begin(), roots.end(), [](const Failure& root) {
    return !root.peer && report::proves_a_death(root) && !root.told->peer.gid.empty();
  });
}

std::string verdict_failed(const Report& report) {
  const auto& root = report.first.roots.front();
  const auto where = where_text(report);
  if (!report.difference && follows_deaths_elsewhere(report))
    return fmt::format(
        "the process at {} had ended by then, and its log is not here; {}, at {}; first told by "
        "{}.",
        without_mapping(root.told->peer.gid), cause_text(root.told->cause), time_text(root.at),
        who(report.picture, {root.member}));
  if (report.difference)
    return fmt::format("{}: {}, at {}; first told by {}.",
                       difference_text(report, *report.difference), cause_text(named_cause(report)),
                       time_text(root.at), who(report.picture, {root.member}));
  if (report.rails)
    return fmt::format("{}: {}, at {}; first told by {}, where the other end's log is not here.",
                       rails_text(root, *report.rails), cause_text(named_cause(report)),
                       time_text(root.at), who(report.picture, {root.member}));
  if (root.reach == report::Reach::kEcho)
    return fmt::format(
        "{}, at {}: this only echoes what happened in a process whose log is not here; first told "
        "by {}.",
        cause_text(root.told->cause), time_text(root.at), who(report.picture, {root.member}));
  if (const auto* sign = sign_of_culprit(report)) return verdict_of_sign(report, *sign);
  const char* unknown = report.kernel_sign ? ""
                        : report::other_ends_unknown(report.picture, report.first.roots)
                            ? " The processes at the other ends have no log here, or one that ends "
                              "before: they may have died."
                            : "";
  const auto& warning = root.told->nccl_warning;
  return fmt::format("{}{}{}, at {}; first told by {}.{}{}", where.empty() ? "" : where + ": ",
                     cause_text(named_cause(report)),
                     warning.empty() ? "" : fmt::format(" (NCCL: \"{}\")", warning),
                     time_text(root.at), who(report.picture, {root.member}),
                     kernel_sign_text(report), unknown);
}

// "rank 1 (node20): DEV-FALLBACK, NCCL slides to TCP, while it waits; "
std::string slid_to_tcp(const Report& report) {
  const std::string cause(nccl_net_diag::cause_id(nccl_net_diag::Cause::kDevFallback));
  std::vector<std::size_t> members;
  for (const std::size_t member : report.making) {
    const auto& told = report.picture.members[member].log->diagnoses;
    if (std::any_of(told.begin(), told.end(), [&](const auto& one) { return one.cause == cause; }))
      members.push_back(member);
  }
  if (members.empty()) return {};
  return fmt::format("{}: {}, and {} for others; ", who(report.picture, members), cause_text(cause),
                     members.size() == 1 ? "it waits" : "they wait");
}

// "2 on node0, 3 on node1"
std::string counted_text(const report::Missing& missing) {
  constexpr std::size_t kMostNamed = 4;
  std::vector<std::string> out;
  for (const auto& [size, hosts] : missing.counted)
    out.push_back(fmt::format("{} on {}", size,
                              hosts.size() > kMostNamed
                                  ? count_of(hosts.size(), "host", "hosts")
                                  : fmt::format("{}", fmt::join(hosts, ", "))));
  return fmt::format("{}", fmt::join(out, ", "));
}

std::string verdict_missing(const Report& report) {
  const auto& missing = report.missing;
  if (missing.is_counted_unlike())
    return fmt::format("not the network: {}: by their launchers there are {}.",
                       cause_text(std::string(cause_id(nccl_net_diag::Cause::kIncRanks))),
                       counted_text(missing));
  if (missing.came && !report.waits.sinks.empty() &&
      report.waits.sinks.front().kind == Sink::Kind::kNoLog) {
    const Sink& sink = report.waits.sinks.front();
    const std::string name = sink.rank                   ? fmt::format("rank {}", *sink.rank)
                             : missing.ranks.size() == 1 ? rank_list(missing.ranks)
                                                         : "the process";
    // Of many whose logs are not here, the one that others wait for may wait itself.
    if (missing.ranks.size() + static_cast<std::size_t>(missing.unnamed) > 1)
      return fmt::format(
          "others wait for a process that took part and whose log is not here; it is {} at {}, and "
          "{} of {} left none: without the plugin, or not collected.",
          name, without_mapping(sink.address), missing_text(missing), *missing.expected);
    return fmt::format(
        "others wait for a process that took part and left no log here, without the plugin, or not "
        "collected; it is {} at {}.",
        name, without_mapping(sink.address));
  }
  // Whoever has its HCAs doesn't meet one that slid to TCP.
  const std::string tcp = slid_to_tcp(report);
  std::string others;
  if (!report.making.empty())
    others = fmt::format(", and {} in {} initialisation",
                         count_of(report.making.size(), "process waits", "processes wait"),
                         report.making.size() == 1 ? "its" : "their");
  else if (!report.waits.waits.empty())
    others = ", and others wait";
  return fmt::format(
      "{}{} of {} left no log{}: not started, died before NCCL's start, without the "
      "plugin, or not collected.",
      tcp, missing_text(missing), *missing.expected, others);
}

std::size_t count_waiting(const Report& report) {
  std::set<std::size_t> waiting;
  for (const auto& wait : report.waits.waits)
    if (!wait.is_for_nobody()) waiting.insert(wait.member);
  return waiting.empty() ? report.making.size() : waiting.size();
}

const char* what_is_stuck(const report::Wait& wait) {
  const std::string& kind = wait.stall->kind;
  if (wait.lost)
    return "the network does not move what one end sent: it has posted receives, and the other "
           "waits to be told of them";
  if (kind == "tcp") return "the TCP connection to the listener gets no answer";
  if (kind == "modify-qp") return "a QP is not moved, ibv_modify_qp waits";
  if (kind == "in-call") return "a call into NCCL's transport does not return";
  if (kind == "stuck-send" || kind == "stuck-flush")
    return "the network does not move what it was given";
  return "nothing comes over it";
}

std::string verdict_of_stuck(const Report& report) {
  const auto& first = report.waits.network.front();
  if (const auto* sign = sign_of_culprit(report))
    return fmt::format("{}: {}, at {}; since then {} over it{}.", where_text(report),
                       cause_text(sign->told->cause), time_text(sign->at),
                       count_of(count_waiting(report), "process waits", "processes wait"),
                       came_back(report, *sign));
  return fmt::format("{}: {}: {} ({}) since {}; first told by {}.", where_text(report),
                     cause_text(first.stall->told.cause), what_is_stuck(first), first.stall->kind,
                     time_text(first.since), who(report.picture, {first.member}));
}

// Where its process may have died: what else it may be.
std::string or_the_network(const Report& report, const Sink& sink) {
  for (const auto& wait : report.waits.waits)
    if (wait.peer == sink.members.front() && wait.blames_network())
      return fmt::format("; its process died, or between {} and {} {} ({})", place_text(wait.here),
                         place_text(wait.there), what_is_stuck(wait), wait.stall->kind);
  return {};
}

const log::Making& making_of(const Report& report) {
  return *report.picture.members[*report.stuck_making].log->making;
}

std::string verdict_of_making(const Report& report) {
  const auto& making = making_of(report);
  const Ns since = report.picture.at(*report.stuck_making, making.told.mono_ns) -
                   static_cast<Ns>(making.age_us * 1000);
  const auto teller = who(report.picture, {*report.stuck_making});
  const auto others = fmt::format("{} in {} initialisation",
                                  count_of(report.making.size(), "process is", "processes are"),
                                  report.making.size() == 1 ? "its" : "their");
  // Who tells of it is no more to blame than who doesn't.
  if (!report.blocked)
    return fmt::format("{}, since {}; {}; {} tells: {}", cause_text(making.told.cause),
                       time_text(since), others, teller, shortened(making.told.msg));
  return fmt::format("{}: {}, since {}: {} {}{}.", teller, cause_text(making.told.cause),
                     time_text(since), shortened(making.told.msg), others,
                     report.blame == report::Blame::kOpen && making.error == ECONNREFUSED
                         ? ", and whoever listened there may have died: logs just end"
                         : "");
}

// NCCL refused, and said why.
std::string verdict_of_own_words(const Report& report) {
  const report::OwnWords& words = *report.own_words;
  const auto cause = cause_text(std::string(nccl_net_diag::cause_id(words.cause)));
  const auto whose = who(report.picture, words.members);
  return words.gpu.empty()
             ? fmt::format("not the network: {}: {} (NCCL: \"{}\").", whose, cause, words.said)
             : fmt::format("not the network: {}: {}, {} (NCCL: \"{}\").", whose, cause, words.gpu,
                           words.said);
}

bool only_one_without_last_words(const Report& report, const Sink& sink) {
  const auto& all = report.picture.members;
  return all[sink.members.front()].ending == report::Ending::kCutOff &&
         std::count_if(all.begin(), all.end(), [](const report::Member& one) {
           return one.ending != report::Ending::kClean;
         }) == 1;
}

bool log_just_ends(const report::Member& member) {
  return member.ending == report::Ending::kCutOff || member.log->cut_off;
}

Ns since_when(const report::Waits& waits) {
  return waits.waits.empty() ? waits.sinks.front().since : waits.waits.front().since;
}

std::string verdict_hang(const Report& report) {
  const auto& waits = report.waits;
  if (report.difference)
    return fmt::format("{}: {} since {}.", difference_text(report, *report.difference),
                       count_of(count_waiting(report), "process waits", "processes wait"),
                       time_text(since_when(waits)));
  if (!waits.network.empty()) return verdict_of_stuck(report);
  if (report.stuck_making && (waits.sinks.empty() || report.blocked))
    return verdict_of_making(report);
  const auto waiting = count_waiting(report);
  const auto waiters = count_of(waiting, "process waits", "processes wait");
  if (waits.sinks.empty())
    return fmt::format("{} since {}, and the logs don't show for whom.", waiters,
                       time_text(waits.waits.front().since));
  const auto& sink = waits.sinks.front();
  if (sink.kind == Sink::Kind::kSilent && waiting != 0 && only_one_without_last_words(report, sink))
    return fmt::format("{} ended without last words after {}, or its log is not whole{}; {}.",
                       who(report.picture, sink.members), time_text(sink.since),
                       or_the_network(report, sink), waiters);
  if (sink.kind == Sink::Kind::kSilent && waiting != 0 &&
      log_just_ends(report.picture.members[sink.members.front()]))
    return fmt::format(
        "{} since {}, and the logs don't show for whom; that of {} ends before, at {}{}.", waiters,
        time_text(waits.waits.front().since), who(report.picture, sink.members),
        clock_text(report.picture.at(sink.members.front(),
                                     report.picture.members[sink.members.front()].log->last_ns)),
        or_the_network(report, sink));
  if (sink.kind == Sink::Kind::kMismatched)
    return fmt::format("not the network: {}; {}.", sink_text(report, sink),
                       waiting != 0 ? waiters : "since " + time_text(sink.since));
  const char* prefix = report.blame == report::Blame::kNotNetwork ? "not the network: " : "";
  if (sink.kind == Sink::Kind::kCycle && report.blame == report::Blame::kOpen)
    return fmt::format("{} since {}, and what is here of the logs doesn't show for whom.", waiters,
                       time_text(waits.waits.front().since));
  if (sink.kind == Sink::Kind::kNoLog && waiting != 0)
    return fmt::format("{} since {} for a process whose log is not here; it is {} at {}.", waiters,
                       time_text(waits.waits.front().since),
                       sink.rank ? fmt::format("rank {}", *sink.rank) : "one",
                       without_mapping(sink.address));
  if (waiting == 0 && sink.apart)
    return fmt::format("{}{}, and nothing moves since {}.", prefix, sink_text(report, sink),
                       time_text(sink.since));
  if (waiting == 0)
    return fmt::format("{}{}; nobody tells of a wait.", prefix, sink_text(report, sink));
  return fmt::format("{}{}; {}.", prefix, sink_text(report, sink), waiters);
}

std::string verdict_ended(const Report& report) {
  const auto when = fmt::format("{} ended together at {}", job_text(report.picture),
                                time_text(report.picture.last));
  std::string warned = warned_text(report);
  if (!warned.empty()) warned = " Warned of: " + warned + ".";
  if (!report.making.empty())
    return fmt::format("{}, while {} still being initialised; nothing shows why.{}", when,
                       count_of(report.making.size(), "process was", "processes were"), warned);
  const bool waited = std::any_of(report.ends.begin(), report.ends.end(),
                                  [](const report::End& end) { return end.waited; });
  if (report.blame == report::Blame::kOpen && !report.missing.any() && !waited)
    return fmt::format("{}, with nothing wrong before in what is here; some logs are cut off.{}",
                       when, warned);
  if (report.blame == report::Blame::kOpen && !report.missing.any())
    return fmt::format(
        "{}, while some had waited with requests under way; nothing shows for whom, or whether for "
        "the network.{}",
        when, warned);
  if (report.missing.any())
    return fmt::format(
        "{} ended by {}, with the others or before them; nothing was wrong before in what is here, "
        "and {} of {} left no log here.{}",
        job_text(report.picture), time_text(report.picture.last), missing_text(report.missing),
        *report.missing.expected, warned);
  return fmt::format("not the network: {}, with nothing wrong before: from outside, or {}.{}", when,
                     report.picture.members.size() == 1
                         ? "it died"
                         : "one of them died and its launcher ended the others",
                     warned);
}

std::string verdict_slow(const Report& report) {
  constexpr std::size_t kMostNamed = 4;
  const auto& slow = report.slow.front();
  std::vector<std::string> places;
  for (const auto& one : report.slow) places.push_back(place_text(one.place));
  const std::string names = places.size() <= kMostNamed
                                ? list(places)
                                : fmt::format("{} and {} more", places.front(), places.size() - 1);
  std::vector<std::size_t> lost;
  for (const auto& loss : report.first.losses) lost.push_back(loss.member);
  const std::string ended =
      lost.empty() ? ""
                   : fmt::format(
                         "; {} died at {}, which a watchdog does where a collective takes "
                         "too long, and nothing had failed",
                         who(report.picture, lost), time_text(report.first.at));
  return fmt::format("{} {} slow: a send takes {:.1f} ms{}, usually {:.1f} ms{}.", names,
                     places.size() > 1 ? "are" : "is", slow.us / 1000,
                     places.size() > 1 ? " at the slowest" : "", slow.usual_us / 1000, ended);
}

std::string verdict_degraded(const Report& report) {
  if (!report.waits.passed.empty()) {
    const auto& first = report.waits.passed.front();
    return fmt::format("{}: stalled for {} at {} ({}), and went on.", where_text(report),
                       seconds(static_cast<Ns>(first.stall->age_us * 1000)), time_text(first.since),
                       first.stall->kind);
  }
  const auto& first =
      *std::find_if(report.failures.begin(), report.failures.end(),
                    [](const Failure& failure) { return failure.warned || failure.recovered; });
  return fmt::format("{}: {} at {}, and the job went on{}.", place_text(first.here),
                     cause_text(first.told->cause), time_text(first.at),
                     first.warned ? came_back(report, first) : "");
}

std::string and_then(const std::string& text) { return text.empty() ? text : text + "; "; }

// What a job that came to its end is told beside that.
std::string but_text(const Report& report) {
  std::string out;
  if (!report.mismatched.empty())
    out = fmt::format("not the network: {}: their data is wrong, though no rank hung; ",
                      apart_text(report, report.mismatched.front()));
  if (report.slower_link) out += and_then(odd_text(report.odd[*report.slower_link]));
  return out + and_then(warned_text(report));
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

namespace {

// How many may run or have been killed, where none is known to run.
std::size_t count_unknown(const Picture& picture) {
  std::size_t out = 0;
  for (const auto& member : picture.members) {
    if (member.ending == report::Ending::kRunning) return 0;
    out += member.ending == report::Ending::kCutOff;
  }
  return out;
}

}  // namespace

bool has_no_word(const Report& report) {
  const bool goes_on = report.kind == Kind::kRunning || report.kind == Kind::kStarting;
  return goes_on && count_unknown(report.picture) != 0;
}

bool judges(const Report& report) {
  return report.kind != Kind::kEnded && !has_no_word(report) &&
         !(report.kind == Kind::kHealthy && report.missing.any());
}

std::string verdict(const Report& report) {
  if (report.named) return named_text(report);
  switch (report.kind) {
    case Kind::kHealthy:
      if (report.missing.any())
        return fmt::format(
            "{}healthy as far as is here: {} ended, {}, nothing failed; {} of {} left no log here.",
            but_text(report), job_text(report.picture), traffic_text(report.picture),
            missing_text(report.missing), *report.missing.expected);
      return fmt::format("{}healthy: {} ended, {}, nothing failed.", but_text(report),
                         job_text(report.picture), traffic_text(report.picture));
    case Kind::kRunning:
      if (const auto lost = count_unknown(report.picture); lost != 0)
        return fmt::format(
            "no word of an end: of {} the logs of {} just end, and no black box of theirs is here: "
            "they {}; nothing failed and nothing waits in what is here.",
            job_text(report.picture), lost,
            report.started_again == 0
                ? "run, or were killed"
                : fmt::format("were killed before the job was started again at {}",
                              time_text(report.started_again)));
      return fmt::format("{}healthy so far: {}, nothing failed and nothing waits.",
                         but_text(report), job_text(report.picture));
    case Kind::kStarting:
      return fmt::format("no word yet: {}; {} still being initialised, since {}.",
                         job_text(report.picture),
                         count_of(report.making.size(), "process is", "processes are"),
                         time_text(report.picture.first));
    case Kind::kEnded:
      return verdict_ended(report);
    case Kind::kFailed:
      return verdict_failed(report);
    case Kind::kLost:
      if (report.ended_by_kernel) return verdict_of_kernel(report);
      return report.own_words ? verdict_of_own_words(report) : lost_text(report);
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
  if (report.named)
    return report.named->differs != nullptr ? report.named->differs : report.named->told;
  switch (report.kind) {
    case Kind::kFailed:
      if (const auto* sign = sign_of_culprit(report)) return sign->told;
      return report.first.roots.front().told;
    case Kind::kHang:
      if (report.blocked || (report.stuck_making && report.waits.sinks.empty()))
        return &making_of(report).told;
      if (report.waits.network.empty()) return nullptr;
      if (const auto* sign = sign_of_culprit(report)) return sign->told;
      return &report.waits.network.front().stall->told;
    case Kind::kSlow:
      return report.slow.front().told != nullptr ? &report.slow.front().told->told : nullptr;
    case Kind::kDegraded: {
      if (!report.waits.passed.empty()) return &report.waits.passed.front().stall->told;
      for (const auto& failure : report.failures)
        if (failure.warned || failure.recovered) return failure.told;
      return nullptr;
    }
    case Kind::kMissing:
      return report.stuck_making ? &making_of(report).told : nullptr;
    default:
      return nullptr;
  }
}

std::string named_cause(const Report& report) {
  if (report.difference && !report.difference->cause.empty()) return report.difference->cause;
  if (report.rails) return std::string(nccl_net_diag::cause_id(nccl_net_diag::Cause::kSubRail));
  if (report.own_words && !report.ended_by_kernel)
    return std::string(nccl_net_diag::cause_id(report.own_words->cause));
  const auto* told = first_told(report);
  return told != nullptr ? told->cause : "";
}

}  // namespace nnd::cli
