#include "cli/report/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <set>
#include <utility>

#include "cli/common/event_json.h"
#include "cli/common/number_list.h"
#include "cli/common/text_table.h"
#include "nccl_net_diag/causes.h"

namespace nnd::cli {

using report::Culprit;
using report::Failure;
using report::Kind;
using report::Ns;
using report::Picture;
using report::Report;
using report::Sink;

namespace {

constexpr std::size_t kMostNames = 4;
constexpr std::size_t kLongestSentence = 320;

std::string seconds(Ns ns) {
  const double sec = static_cast<double>(ns) / 1e9;
  return fmt::format("{:.{}f} s", sec, sec < 10 ? 1 : 0);
}

std::string count_of(std::size_t count, const char* one, const char* more) {
  return fmt::format("{} {}", count, count == 1 ? one : more);
}

std::string shortened(std::string text) {
  if (text.size() <= kLongestSentence) return text;
  auto end = text.rfind(' ', kLongestSentence);
  if (end == std::string::npos) end = kLongestSentence;
  return text.substr(0, end) + " ...";
}

std::string list(const std::vector<std::string>& names) {
  const std::vector<std::string> shown(
      names.begin(),
      names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kMostNames)));
  const std::string more =
      names.size() > kMostNames ? fmt::format(" and {} more", names.size() - kMostNames) : "";
  return fmt::format("{}{}", fmt::join(shown, ", "), more);
}

std::string title_of(const std::string& cause) {
  const auto known = nccl_net_diag::find_cause(cause);
  if (!known) return {};
  return std::string(nccl_net_diag::cause_entry(*known).title);
}

// "WC-12, the peer did not answer (RETRY_EXC_ERR)"
std::string cause_text(const std::string& cause) {
  auto title = title_of(cause);
  if (title.empty()) return cause.empty() ? "a failure without a name" : cause;
  const bool word = title.size() > 1 && (title[1] == ' ' || (title[1] >= 'a' && title[1] <= 'z'));
  if (word && title[0] >= 'A' && title[0] <= 'Z')
    title[0] = static_cast<char>(title[0] + 'a' - 'A');
  return fmt::format("{}, {}", cause, title);
}

std::vector<std::size_t> members_of(const std::vector<report::Loss>& losses) {
  std::vector<std::size_t> out;
  for (const auto& loss : losses) out.push_back(loss.member);
  return out;
}

std::set<std::size_t> members_of(const std::vector<Failure>& failures) {
  std::set<std::size_t> out;
  for (const auto& failure : failures) out.insert(failure.member);
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
  return fmt::format("{}, {:.3g} GB sent", count_of(connections, "connection", "connections"),
                     bytes / 1e9);
}

// A node, where it is the node's: its memory limit, not one of its HCAs'.
bool is_of_node(const std::string& cause) {
  using nccl_net_diag::Cause;
  constexpr std::array kOfNode{Cause::kLimMemlock,  Cause::kLimMemlock2, Cause::kLimNoFile,
                               Cause::kLimUverbs,   Cause::kLimQpCount,  Cause::kLimFork,
                               Cause::kEnvWrong,    Cause::kEnvTypo,     Cause::kEnvOverride,
                               Cause::kDevFallback, Cause::kPolicy,      Cause::kMr12,
                               Cause::kCq12,        Cause::kQp12};
  const auto known = nccl_net_diag::find_cause(cause);
  return known && std::find(kOfNode.begin(), kOfNode.end(), *known) != kOfNode.end();
}

std::string where_text(const Report& report) {
  if (report.culprits.empty()) return {};
  if (!report.first.roots.empty() && is_of_node(report.first.roots[0].told->cause)) {
    std::set<std::string> hosts;
    for (const auto& root : report.first.roots) hosts.insert(root.here.host);
    return list({hosts.begin(), hosts.end()});
  }
  std::vector<std::string> names;
  for (const auto& culprit : report.culprits) names.push_back(culprit_text(culprit));
  return fmt::format("{}", fmt::join(names, "; "));
}

// What the HCA that is to blame had told of itself.
const Failure* sign_of_culprit(const Report& report) {
  if (report.culprits.empty()) return nullptr;
  const auto& place = report.culprits.front().place;
  for (const auto& sign : report.first.signs)
    if (sign.here.host == place.host && sign.here.dev == place.dev) return &sign;
  return nullptr;
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
  return fmt::format("{}{}, at {}; first told by {}.", where.empty() ? "" : where + ": ",
                     cause_text(root.told->cause), clock_text(root.at),
                     who(report.picture, {root.member}));
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

std::string missing_text(const report::Missing& missing) {
  if (missing.ranks.empty())
    return count_of(static_cast<std::size_t>(missing.unnamed), "process", "processes");
  return rank_list(missing.ranks);
}

std::string verdict_missing(const Report& report) {
  const auto& missing = report.missing;
  return fmt::format(
      "{} of {} left no log{}: not started, died before NCCL's start, or without the "
      "plugin.",
      missing_text(missing), *missing.expected,
      report.waits.waits.empty() ? "" : ", and others wait");
}

std::string sink_text(const Report& report, const Sink& sink) {
  const auto names = who(report.picture, sink.members);
  switch (sink.kind) {
    case Sink::Kind::kIdle:
      return fmt::format("{} has asked the network for nothing since {}", names,
                         clock_text(sink.since));
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
      return fmt::format("the process at {} has no log here", sink.address);
    case Sink::Kind::kNetwork:
      return fmt::format("{} waits for the network itself", names);
    case Sink::Kind::kCycle:
      return fmt::format("{} wait for each other", names);
  }
  return {};
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
  const char* prefix = report.blame == report::Blame::kNotNetwork ? "not the network: " : "";
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
  return fmt::format("{}{} is slow: a send takes {:.1f} ms, elsewhere {:.1f} ms.",
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

// How sure it is, and what speaks against it.
std::string share_text(const Culprit& culprit) {
  auto out =
      fmt::format("{} has part in {} of {} failing {}", culprit_text(culprit), culprit.explained,
                  culprit.failing, culprit.failing == 1 ? "pair" : "pairs");
  if (culprit.working > 0)
    out += fmt::format("; against it: {} through it {}", count_of(culprit.working, "pair", "pairs"),
                       culprit.working == 1 ? "works" : "work");
  return out + ".";
}

std::string by_cause(const std::vector<Failure>& failures) {
  std::map<std::string, std::size_t> causes;
  for (const auto& failure : failures) ++causes[failure.told->cause];
  std::vector<std::pair<std::size_t, std::string>> order;
  for (const auto& [cause, count] : causes) order.emplace_back(count, cause);
  std::sort(order.rbegin(), order.rend());
  std::vector<std::string> out;
  for (const auto& [count, cause] : order) out.push_back(fmt::format("{} {}", count, cause));
  return list(out);
}

void add(Words& words, const char* title, std::vector<std::string> lines) {
  std::erase(lines, std::string());
  if (!lines.empty()) words.parts.push_back({title, std::move(lines)});
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

std::vector<std::string> followers(const Report& report) {
  std::vector<std::string> out;
  const auto& first = report.first;
  if (!first.followed.empty()) {
    const auto members = members_of(first.followed);
    out.push_back(fmt::format(
        "{} ({}) of {}.", count_of(first.followed.size(), "failure", "failures"),
        by_cause(first.followed), who(report.picture, {members.begin(), members.end()})));
  }
  if (!first.other.empty()) {
    const auto members = members_of(first.other);
    out.push_back(fmt::format("{} later, which may have a cause of {} own: {} of {}.",
                              count_of(first.other.size(), "failure", "failures"),
                              first.other.size() == 1 ? "its" : "their", by_cause(first.other),
                              who(report.picture, {members.begin(), members.end()})));
  }
  return out;
}

std::vector<std::string> waiting(const Report& report) {
  std::vector<std::string> out;
  if (report.waits.waits.empty()) return out;
  const bool matters = report.kind == Kind::kHang || report.kind == Kind::kMissing;
  std::map<std::string, std::set<std::size_t>> kinds;
  for (const auto& wait : report.waits.waits) kinds[wait.stall->kind].insert(wait.member);
  std::vector<std::string> counts;
  for (const auto& [kind, members] : kinds)
    counts.push_back(fmt::format("{} {}", members.size(), kind));
  out.push_back(fmt::format("processes that wait, by what they tell: {}.", list(counts)));
  for (std::size_t i = 0; matters && i < report.waits.sinks.size(); ++i) {
    const auto& sink = report.waits.sinks[i];
    out.push_back(fmt::format("{} at last for this: {}.",
                              count_of(sink.waiting, "process waits", "processes wait"),
                              sink_text(report, sink)));
  }
  return out;
}

std::vector<std::string> odd_lines(const Report& report) {
  std::vector<std::string> out;
  for (const auto& odd : report.odd) {
    const auto& one = odd.others.front();
    if (odd.usual.empty())
      out.push_back(fmt::format("{}: \"{}\" on {}, \"{}\" on {}.", odd.what, shortened(one.value),
                                list(one.who), shortened(odd.others.back().value),
                                list(odd.others.back().who)));
    else
      out.push_back(fmt::format("{}: \"{}\" on {}, \"{}\" on the other {}.", odd.what,
                                shortened(one.value), list(one.who), shortened(odd.usual),
                                odd.usual_count));
  }
  return out;
}

std::vector<std::string> warning_lines(const Report& report) {
  std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> all;
  const auto& members = report.picture.members;
  for (std::size_t i = 0; i < members.size(); ++i)
    for (const auto& told : members[i].log->diagnoses) {
      if (told.severity == log::Severity::kInfo || told.failure || told.event == "port.event" ||
          told.event == "conn.stall")
        continue;
      auto& told_by = all[{told.cause, told.dev.name}];
      if (told_by.empty() || told_by.back() != i) told_by.push_back(i);
    }
  std::vector<std::string> out;
  for (const auto& [what, told_by] : all)
    out.push_back(fmt::format("{}{}: {}.", cause_text(what.first),
                              what.second.empty() ? "" : ", " + what.second,
                              who(report.picture, told_by)));
  return out;
}

std::vector<std::string> timeline(const Report& report) {
  const auto& picture = report.picture;
  Ns opened = 0, ready = 0, closed = 0;
  for (std::size_t i = 0; i < picture.members.size(); ++i)
    for (const auto& [number, connection] : picture.members[i].log->connections) {
      const auto note = [&](std::uint64_t mono_ns, Ns& at, bool first) {
        if (mono_ns == 0) return;
        const Ns when = picture.at(i, mono_ns);
        at = at == 0 ? when : first ? std::min(at, when) : std::max(at, when);
      };
      note(connection.opened_ns, opened, true);
      note(connection.ready_ns, ready, false);
      note(connection.closed_ns, closed, false);
    }
  std::vector<std::pair<Ns, std::string>> marks{{picture.first, "first process"}};
  if (opened != 0) marks.emplace_back(opened, "first connection");
  if (ready != 0) marks.emplace_back(ready, "last one ready");
  if (!report.waits.waits.empty())
    marks.emplace_back(report.waits.waits.front().since, "first wait");
  if (report.first.any()) marks.emplace_back(report.first.at, "first failure");
  if (closed != 0) marks.emplace_back(closed, "last one closed");
  marks.emplace_back(picture.last, "last sign of life");
  std::stable_sort(marks.begin(), marks.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> texts;
  for (const auto& [at, what] : marks) texts.push_back(fmt::format("{} {}", clock_text(at), what));
  return {fmt::format("{} (UTC).", fmt::join(texts, ", "))};
}

std::vector<std::string> clock_lines(const Picture& picture) {
  std::vector<std::string> out;
  constexpr Ns kWorthIt = 1'000'000;
  for (const auto& host : picture.hosts)
    if (host.ahead > kWorthIt || host.ahead < -kWorthIt)
      out.push_back(fmt::format("{} {} {:.3f} s (+-{:.3f} s).", host.name,
                                host.ahead > 0 ? "is ahead by" : "is behind by",
                                std::abs(static_cast<double>(host.ahead)) / 1e9,
                                static_cast<double>(host.uncertain) / 1e9));
  return out;
}

std::vector<std::string> read_lines(const Report& report, const report::Input& input) {
  const auto& counts = input.counts;
  std::vector<std::string> notes;
  if (const auto left = left_out(counts); !left.empty()) notes.push_back("lines left out: " + left);
  const auto note = [&](std::uint64_t count, const char* what) {
    if (count != 0) notes.push_back(fmt::format("{} {}", count, what));
  };
  note(counts.newer, "events of a newer release");
  note(input.duplicates, "events twice");
  note(input.foreign_files, "other files");
  note(report.picture.earlier_processes, "processes of earlier jobs");
  std::uint64_t damaged = 0, late = 0;
  for (const auto& [proc, box] : input.boxes) {
    damaged += box.damaged;
    late += box.records;
  }
  note(damaged, "damaged places in boxes");
  auto out =
      fmt::format("{} events of {} and {}", counts.events, count_of(counts.files, "log", "logs"),
                  count_of(input.boxes.size(), "black box", "black boxes"));
  if (late != 0) out += fmt::format(" ({} events that the logs hadn't)", late);
  if (!notes.empty()) out += fmt::format("; {}", fmt::join(notes, ", "));
  std::vector<std::string> lines{out + "."};
  for (const auto& problem : input.problems) lines.push_back(problem + ".");
  if (report.missing.any() && report.kind != Kind::kMissing)
    lines.push_back(fmt::format("No log here of {} of {}.", missing_text(report.missing),
                                *report.missing.expected));
  return lines;
}

}  // namespace

std::string clock_text(Ns at) {
  const Ns ms = at / 1'000'000;
  const std::chrono::hh_mm_ss time(std::chrono::milliseconds(ms % (Ns{24} * 3600 * 1000)));
  return fmt::format("{:02}:{:02}:{:02}.{:03}", time.hours().count(), time.minutes().count(),
                     time.seconds().count(), time.subseconds().count());
}

std::string who(const Picture& picture, const std::vector<std::size_t>& members) {
  std::set<int> ranks;
  std::set<std::string> hosts;
  for (const auto member : members) {
    if (picture.members[member].rank) ranks.insert(*picture.members[member].rank);
    hosts.insert(picture.members[member].log->host);
  }
  if (members.size() > 1 && members.size() == picture.members.size())
    return fmt::format("all {} processes", members.size());
  if (hosts.size() > kMostNames)
    return fmt::format("{} on {} hosts", count_of(members.size(), "process", "processes"),
                       hosts.size());
  if (ranks.size() == members.size())
    return fmt::format("{} ({})", rank_list(ranks), fmt::join(hosts, ", "));
  if (members.size() == 1)
    return fmt::format("{} pid {}", *hosts.begin(), picture.members[members[0]].log->pid);
  return fmt::format("{} on {}", count_of(members.size(), "process", "processes"),
                     fmt::join(hosts, ", "));
}

std::string place_text(const report::Place& place) {
  if (place.dev.empty()) return place.host.empty() ? place.subnet : place.host;
  return place.host.empty() ? place.dev : fmt::format("{} of {}", place.dev, place.host);
}

std::string culprit_text(const Culprit& culprit) {
  switch (culprit.kind) {
    case Culprit::Kind::kHca:
      return place_text(culprit.place);
    case Culprit::Kind::kHost:
      return culprit.place.host;
    case Culprit::Kind::kPair:
      return fmt::format("between {} and {}", place_text(culprit.place), place_text(culprit.other));
    case Culprit::Kind::kRail:
      return fmt::format("the rail of {}", culprit.place.dev);
    case Culprit::Kind::kSubnet:
      return fmt::format("subnet {}", culprit.place.subnet);
    case Culprit::Kind::kBetween:
      return fmt::format("between the subnets {} and {}", culprit.place.subnet,
                         culprit.other.subnet);
    case Culprit::Kind::kAll:
      return "everywhere";
  }
  return {};
}

std::string named_cause(const Report& report) {
  const auto* told = first_told(report);
  return told != nullptr ? told->cause : "";
}

Words words_of(const Report& report, const report::Input& input) {
  Words out;
  out.verdict = verdict(report);
  if (const auto* told = first_told(report); told != nullptr && !told->msg.empty())
    add(out, "First", {shortened(told->msg)});
  add(out, "What to do", {shortened(remedy(report))});
  std::vector<std::string> shares;
  const bool local =
      report.kind == Kind::kFailed && report.first.roots.front().reach == report::Reach::kLocal;
  for (const auto& culprit : report.culprits)
    if (!local) shares.push_back(share_text(culprit));
  if (local) {
    const auto members = members_of(report.first.roots);
    shares.push_back(fmt::format("{}, of {}.",
                                 count_of(report.first.roots.size(), "failure", "failures"),
                                 who(report.picture, {members.begin(), members.end()})));
  }
  for (const auto& sign : report.first.signs)
    if (&sign != sign_of_culprit(report))
      shares.push_back(fmt::format(
          "{} told {} {} before: {}", place_text(sign.here), sign.told->cause,
          seconds(std::max<Ns>(report.first.at - sign.at, 0)), shortened(sign.told->msg)));
  add(out, "Where", shares);
  add(out, "What followed", followers(report));
  add(out, "Waits", waiting(report));
  add(out, "Not the same everywhere", odd_lines(report));
  add(out, "Warnings", warning_lines(report));
  add(out, "Time line", timeline(report));
  add(out, "Clocks", clock_lines(report.picture));
  add(out, "Read", read_lines(report, input));
  return out;
}

}  // namespace nnd::cli
