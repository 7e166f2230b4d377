#include "cli/report/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "cli/common/event_json.h"
#include "cli/common/number_list.h"
#include "cli/common/text_table.h"
#include "cli/common/time_text.h"
#include "cli/report/bandwidth_text.h"
#include "cli/report/kernel_text.h"
#include "cli/report/look_commands.h"
#include "cli/report/named_text.h"
#include "cli/report/names.h"
#include "cli/report/sink_text.h"
#include "cli/report/verdict.h"

namespace nnd::cli {

using report::Culprit;
using report::Failure;
using report::Kind;
using report::Ns;
using report::Picture;
using report::Report;

namespace {

std::set<std::size_t> members_of(const std::vector<Failure>& failures) {
  std::set<std::size_t> out;
  for (const auto& failure : failures) out.insert(failure.member);
  return out;
}

// How sure it is, and what speaks against it.
std::string share_text(const Culprit& culprit) {
  auto out =
      fmt::format("{} has part in {} of {} failing {}", culprit_text(culprit), culprit.explained,
                  culprit.failing, culprit.failing == 1 ? "pair" : "pairs");
  if (culprit.working > 0)
    out += fmt::format("; against it: {} through it {}", count_of(culprit.working, "pair", "pairs"),
                       culprit.working == 1 ? "works" : "work");
  out += ".";
  if (!culprit.other_end.empty())
    out += fmt::format(" The other end of its cable is {}, by the plan of addresses.",
                       culprit.other_end);
  if (culprit.kind == Culprit::Kind::kPlane)
    out += " Neighbouring subnets are mostly a plane, a leaf switch or a pod.";
  return out;
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
  out.push_back(fmt::format("what they tell: {}.", list(counts)));
  for (std::size_t i = 0; matters && i < report.waits.sinks.size(); ++i) {
    const auto& sink = report.waits.sinks[i];
    out.push_back(
        fmt::format("{} over the network for this: {}.", sink.waiting, sink_text(report, sink)));
  }
  for (std::size_t i = 0; matters && i < report.waits.apart.size(); ++i)
    out.push_back(apart_text(report, report.waits.apart[i]) + ".");
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

std::vector<std::string> balance_lines(const Report& report) {
  std::vector<std::string> out;
  for (const auto& one : report.unbalanced)
    out.push_back(fmt::format("{} sent {}, on most of {} hosts it is {} ({:.0f} deviations {}).",
                              place_text(one.place), bytes_text(one.bytes), one.hosts,
                              bytes_text(one.usual_bytes), std::abs(one.effect),
                              one.effect > 0 ? "more" : "less"));
  return out;
}

std::vector<std::string> late_lines(const Report& report) {
  const char* const since = report.slow.empty()
                                ? "Its GPU or its program is slower, not the network."
                                : "What the slow port brings late may keep it.";
  std::vector<std::string> out;
  for (const auto& one : report.late)
    out.push_back(fmt::format(
        "{} was waited for: {:.1f} s in all until it had posted its receives, most of "
        "{} others {:.1f} s. {}",
        who(report.picture, {one.member}), one.sec, one.members - 1, one.usual_sec, since));
  if (const log::Latecomer* const late = report.latecomer)
    out.push_back(
        fmt::format("{} came last to collectives, in {} of the {} that were compared: the "
                    "others waited {:.0f} ms for it. {}",
                    process_text(late->rank, late->host, late->pid), late->times, late->of,
                    static_cast<double>(late->waited_us) / 1e3, since));
  return out;
}

std::vector<std::string> slow_lines(const Report& report) {
  std::vector<std::string> out;
  for (const auto& one : report.slow)
    if (one.ports != 0)
      out.push_back(
          fmt::format("{}: {:.1f} ms a send, {} sends; the median of {} ports is {:.1f} ms ({:.0f} "
                      "deviations).",
                      place_text(one.place), one.us / 1000, one.requests, one.ports,
                      one.usual_us / 1000, one.effect));
  return out;
}

std::vector<std::string> counter_lines(const Report& report) {
  std::vector<std::string> out;
  for (const auto& one : report.grown)
    out.push_back(fmt::format("{}: {} grew by {}, on most of {} ports by {:.0f}.",
                              place_text(one.place), one.counter, one.by, one.ports, one.usual));
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
  for (const auto& apart : report.mismatched) out.push_back(apart_text(report, apart) + ".");
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
  for (const auto& one : report.missing.incomplete)
    lines.push_back(fmt::format("Of the {} ranks of {} no log here of {} ({}{}).", one.nranks,
                                communicator_text(report.picture, one.comm), one.missing,
                                rank_list(one.ranks),
                                one.ranks.size() < one.missing ? ", ..." : ""));
  return lines;
}

}  // namespace

std::vector<std::string> job_lines(const std::vector<JobLine>& jobs) {
  std::vector<std::string> out;
  if (jobs.size() < 2) return out;
  for (auto job = jobs.rbegin(); job != jobs.rend(); ++job)
    out.push_back(
        fmt::format("{}{}, incarnation {}, from {} to {}, {}: {}", job->judged ? "(this one) " : "",
                    job->run.job.empty() ? "job without an id" : "job " + job->run.job,
                    job->run.incarnation, time_text(job->run.first), clock_text(job->run.last),
                    count_of(job->run.processes, "process", "processes"), job->verdict));
  return out;
}

std::string later_start_text(const std::vector<JobLine>& jobs) {
  const auto judged =
      std::find_if(jobs.begin(), jobs.end(), [](const auto& one) { return one.judged; });
  if (judged == jobs.end() || judged + 1 == jobs.end()) return {};
  return fmt::format(" This is of the start at {}; of the last, at {}: {}.",
                     clock_text(judged->run.first), time_text(jobs.back().run.first),
                     jobs.back().kind);
}

Words words_of(const Report& report, const report::Input& input) {
  Words out;
  out.verdict = verdict(report);
  if (const auto* told = first_told(report); told != nullptr && !told->msg.empty())
    add(out, "First", {shortened(told->msg)});
  add(out, "What to do", {shortened(remedy(report))});
  add(out, "Look", commands_to_look(report));
  add(out, "Kernel's log", kernel_lines(report));
  std::vector<std::string> shares;
  const bool local =
      report.kind == Kind::kFailed && report::is_own(report.first.roots.front().reach);
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
      shares.push_back(fmt::format("{} told {} {}: {}", place_text(sign.here), sign.told->cause,
                                   report.first.at == 0 ? "at " + clock_text(sign.at)
                                   : sign.at <= report.first.at
                                       ? seconds(report.first.at - sign.at) + " before"
                                       : seconds(sign.at - report.first.at) + " later",
                                   shortened(sign.told->msg)));
  add(out, "Where", shares);
  add(out, "What followed", followers(report));
  add(out, "Waits", waiting(report));
  add(out, "Slow", slow_lines(report));
  add(out, "Late", late_lines(report));
  add(out, "Counters", counter_lines(report));
  add(out, "Balance", balance_lines(report));
  if (!report.found_cause() || report.kind == report::Kind::kSlow ||
      report.kind == report::Kind::kDegraded)
    add(out, "Bandwidth", bandwidth_lines(report.bandwidths));
  add(out, "Not the same everywhere", odd_lines(report));
  add(out, "Warnings", warning_lines(report));
  add(out, "Time line", timeline(report));
  add(out, "Clocks", clock_lines(report.picture));
  add(out, "Read", read_lines(report, input));
  return out;
}

}  // namespace nnd::cli
