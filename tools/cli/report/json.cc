#include "cli/report/json.h"

#include <algorithm>
#include <array>

#include "cli/common/event_json.h"
#include "cli/report/bandwidth_text.h"
#include "cli/report/kernel_text.h"
#include "cli/report/names.h"
#include "cli/report/restart_json.h"
#include "cli/report/verdict.h"
#include "cli/report/why.h"

namespace nnd::cli {

using nlohmann::json;
using report::Culprit;
using report::Picture;
using report::Report;

namespace {

json member_json(const Picture& picture, std::size_t index) {
  const auto& member = picture.members[index];
  json out{{"host", member.log->host}, {"pid", member.log->pid}, {"proc", member.log->proc}};
  if (member.rank) out["rank"] = *member.rank;
  return out;
}

json members_json(const Picture& picture, const std::vector<std::size_t>& members) {
  json out = json::array();
  for (const auto member : members) out.push_back(member_json(picture, member));
  return out;
}

json place_json(const report::Place& place) {
  json out = json::object();
  if (!place.host.empty()) out["host"] = place.host;
  if (!place.dev.empty()) out["device"] = place.dev;
  if (!place.subnet.empty()) out["subnet"] = place.subnet;
  if (place.port != 0) out["port"] = place.port;
  return out;
}

const char* name_of(Culprit::Kind kind) {
  constexpr std::array kNames{
      "hca", "port", "host", "pair", "rail", "subnet", "plane", "between-subnets", "all"};
  return kNames.at(static_cast<std::size_t>(kind));
}

const char* name_of(report::Sink::Kind kind) {
  constexpr std::array kNames{"idle",    "stopped", "died",   "left",       "silent",  "no-log",
                              "network", "cycle",   "behind", "mismatched", "not-come"};
  return kNames.at(static_cast<std::size_t>(kind));
}

const char* name_of(report::Ending ending) {
  constexpr std::array kNames{"clean", "running", "died", "cut-off"};
  return kNames.at(static_cast<std::size_t>(ending));
}

// A line of a log, to be found again.
json evidence_json(const Report& report, std::size_t member, const log::Diagnosis& told) {
  auto out = to_json(told);
  out.update(member_json(report.picture, member));
  out["seq"] = told.seq;
  if (!report.picture.members[member].file.empty())
    out["file"] = report.picture.members[member].file;
  return out;
}

json failure_json(const Report& report, const report::Failure& failure) {
  json out{{"at_ns", failure.at},
           {"cause", failure.told->cause},
           {"here", place_json(failure.here)},
           {"told", evidence_json(report, failure.member, *failure.told)}};
  if (auto there = place_json(failure.there); !there.empty()) out["there"] = std::move(there);
  if (failure.peer) out["peer"] = member_json(report.picture, *failure.peer);
  return out;
}

json failures_json(const Report& report, const std::vector<report::Failure>& failures) {
  constexpr std::size_t kMost = 1000;
  json out = json::array();
  for (std::size_t i = 0; i < std::min(failures.size(), kMost); ++i)
    out.push_back(failure_json(report, failures[i]));
  return out;
}

json culprits_json(const Report& report) {
  json out = json::array();
  for (const auto& culprit : report.culprits) {
    json one{{"kind", name_of(culprit.kind)},      {"explained", culprit.explained},
             {"failing", culprit.failing},         {"working", culprit.working},
             {"place", place_json(culprit.place)}, {"text", culprit_text(culprit)}};
    if (auto other = place_json(culprit.other); !other.empty()) one["other"] = std::move(other);
    if (!culprit.other_end.empty()) one["other_end"] = culprit.other_end;
    if (culprit.kind == Culprit::Kind::kPlane) {
      one["subnets"] = culprit.subnets;
      one["all_subnets"] = culprit.all_subnets;
    }
    out.push_back(std::move(one));
  }
  return out;
}

json waits_json(const Report& report, const std::vector<report::Wait>& waits) {
  json out = json::array();
  for (const auto& wait : waits) {
    json one{{"kind", wait.stall->kind},
             {"since_ns", wait.since},
             {"conns", wait.stall->conns},
             {"here", place_json(wait.here)},
             {"told", evidence_json(report, wait.member, wait.stall->told)}};
    if (auto there = place_json(wait.there); !there.empty()) one["there"] = std::move(there);
    if (wait.peer) one["peer"] = member_json(report.picture, *wait.peer);
    out.push_back(std::move(one));
  }
  return out;
}

json sinks_json(const Report& report) {
  json out = json::array();
  for (const auto& sink : report.waits.sinks) {
    json one{{"kind", name_of(sink.kind)},
             {"processes", members_json(report.picture, sink.members)},
             {"since_ns", sink.since},
             {"waiting", sink.waiting}};
    if (!sink.address.empty()) one["address"] = sink.address;
    if (sink.rank) one["rank"] = *sink.rank;
    out.push_back(std::move(one));
  }
  return out;
}

json stand_json(const Picture& picture, const report::Stand& stand) {
  json out{{"collective", stand.task.kind},
           {"ordinal", stand.task.ordinal},
           {"processes", members_json(picture, stand.members)}};
  if (stand.task.bytes != 0) out["bytes"] = stand.task.bytes;
  if (stand.task.seq) out["seq"] = *stand.task.seq;
  return out;
}

json apart_json(const Report& report) {
  json out = json::array();
  for (const auto& apart : report.waits.apart)
    out.push_back({{"kind", apart.kind == report::Apart::Kind::kBehind ? "behind" : "mismatched"},
                   {"comm", apart.comm},
                   {"most", stand_json(report.picture, apart.most)},
                   {"others", stand_json(report.picture, apart.others)},
                   {"inside", apart.inside}});
  return out;
}

json losses_json(const Report& report) {
  json out = json::array();
  for (const auto& loss : report.first.losses) {
    auto one = member_json(report.picture, loss.member);
    one["at_ns"] = loss.at;
    one["ending"] = name_of(report.picture.members[loss.member].ending);
    out.push_back(std::move(one));
  }
  return out;
}

json missing_json(const Report& report) {
  const auto& missing = report.missing;
  json out{{"ranks", missing.ranks},
           {"unnamed", missing.unnamed},
           {"without_plugin", members_json(report.picture, missing.unloaded)},
           {"never_connected", members_json(report.picture, missing.alone)}};
  auto& incomplete = out["communicators"] = json::array();
  for (const auto& one : missing.incomplete)
    incomplete.push_back({{"comm", one.comm},
                          {"nranks", one.nranks},
                          {"missing", one.missing},
                          {"ranks", one.ranks}});
  if (missing.expected) out["expected"] = *missing.expected;
  return out;
}

json odd_json(const Report& report) {
  json out = json::array();
  for (const auto& odd : report.odd) {
    json others = json::array();
    for (const auto& other : odd.others)
      others.push_back({{"value", other.value}, {"who", other.who}});
    json one{{"what", odd.what}, {"serious", odd.serious}, {"others", std::move(others)}};
    if (odd.usual_count != 0) {
      one["usual"] = odd.usual;
      one["usual_count"] = odd.usual_count;
    }
    out.push_back(std::move(one));
  }
  return out;
}

json slow_json(const Report& report) {
  json out = json::array();
  for (const auto& slow : report.slow) {
    json one{{"place", place_json(slow.place)}, {"us", slow.us},       {"usual_us", slow.usual_us},
             {"requests", slow.requests},       {"ports", slow.ports}, {"effect", slow.effect}};
    if (slow.told != nullptr) one["told"] = evidence_json(report, slow.member, slow.told->told);
    out.push_back(std::move(one));
  }
  return out;
}

json unbalanced_json(const Report& report) {
  json out = json::array();
  for (const auto& one : report.unbalanced)
    out.push_back({{"place", place_json(one.place)},
                   {"bytes", one.bytes},
                   {"usual_bytes", one.usual_bytes},
                   {"effect", one.effect},
                   {"hosts", one.hosts}});
  return out;
}

json late_json(const Report& report) {
  json out = json::array();
  for (const auto& one : report.late)
    out.push_back({{"process", member_json(report.picture, one.member)},
                   {"sec", one.sec},
                   {"usual_sec", one.usual_sec},
                   {"effect", one.effect},
                   {"processes", one.members}});
  return out;
}

json latecomer_json(const log::Latecomer* late) {
  if (late == nullptr) return nullptr;
  json out{{"times", late->times}, {"of", late->of}, {"waited_us", late->waited_us}};
  if (late->rank) out["rank"] = *late->rank;
  if (!late->host.empty()) out["host"] = late->host;
  if (late->pid) out["pid"] = *late->pid;
  return out;
}

json counters_json(const Report& report) {
  json out = json::array();
  for (const auto& one : report.grown)
    out.push_back({{"place", place_json(one.place)},
                   {"counter", one.counter},
                   {"by", one.by},
                   {"usual", one.usual},
                   {"ports", one.ports}});
  return out;
}

json processes_json(const Report& report) {
  json out = json::array();
  for (std::size_t i = 0; i < report.picture.members.size(); ++i) {
    const auto& member = report.picture.members[i];
    auto one = member_json(report.picture, i);
    one["ending"] = name_of(member.ending);
    one["first_ns"] = member.first;
    one["last_ns"] = member.last;
    one["connections"] = member.log->connections.size();
    one["events"] = member.log->events;
    if (!member.file.empty()) one["file"] = member.file;
    if (member.box != nullptr) one["box"] = member.box->file;
    if (member.log->summary && !member.log->summary->network.empty())
      one["network"] = member.log->summary->network;
    out.push_back(std::move(one));
  }
  return out;
}

json clocks_json(const Picture& picture) {
  json out = json::array();
  for (const auto& host : picture.hosts)
    out.push_back({{"host", host.name},
                   {"ahead_ns", host.ahead},
                   {"uncertain_ns", host.uncertain},
                   {"compared", host.compared}});
  return out;
}

json read_json(const Report& report, const report::Input& input) {
  const auto& counts = input.counts;
  std::uint64_t records = 0, damaged = 0;
  for (const auto& [proc, box] : input.boxes) {
    records += box.records;
    damaged += box.damaged;
  }
  return {{"logs", counts.files},
          {"events", counts.events},
          {"boxes", input.boxes.size()},
          {"box_events", records},
          {"box_damaged", damaged},
          {"foreign_lines", counts.foreign},
          {"truncated_lines", counts.truncated},
          {"too_long_lines", counts.too_long},
          {"newer_events", counts.newer},
          {"duplicates", input.duplicates},
          {"foreign_files", input.foreign_files},
          {"problems", input.problems},
          {"earlier_runs", report.picture.earlier_runs},
          {"earlier_processes", report.picture.earlier_processes},
          {"interrupted", input.interrupted}};
}

json jobs_json(const std::vector<JobLine>& jobs) {
  json out = json::array();
  for (const auto& job : jobs)
    out.push_back({{"job", job.run.job},
                   {"incarnation", job.run.incarnation},
                   {"processes", job.run.processes},
                   {"first_ns", job.run.first},
                   {"last_ns", job.run.last},
                   {"kind", job.kind},
                   {"blame", job.blame},
                   {"verdict", job.verdict},
                   {"judged", job.judged}});
  return out;
}

json parts_json(const Words& words) {
  json out = json::array();
  for (const auto& part : words.parts)
    out.push_back({{"title", part.title}, {"lines", part.lines}});
  return out;
}

}  // namespace

json report_json(const Report& report, const report::Input& input, const Words& words,
                 const std::vector<JobLine>& jobs) {
  json out{{"kind", report::name_of(report.kind)},
           {"blame", report::name_of(report.blame)},
           {"first_ns", report.picture.first},
           {"last_ns", report.picture.last},
           {"culprits", culprits_json(report)},
           {"failures", failures_json(report, report.first.roots)},
           {"signs", failures_json(report, report.first.signs)},
           {"other_failures", failures_json(report, report.first.other)},
           {"followed", report.first.followed.size()},
           {"losses", losses_json(report)},
           {"missing", missing_json(report)},
           {"waits", waits_json(report, report.waits.waits)},
           {"passed", waits_json(report, report.waits.passed)},
           {"sinks", sinks_json(report)},
           {"apart", apart_json(report)},
           {"slow", slow_json(report)},
           {"unbalanced", unbalanced_json(report)},
           {"late", late_json(report)},
           {"latecomer", latecomer_json(report.latecomer)},
           {"bandwidth", bandwidth_json(report.bandwidths)},
           {"restart", restart_json(report::restart_of(report))},
           {"counters", counters_json(report)},
           {"odd", odd_json(report)},
           {"clocks", clocks_json(report.picture)},
           {"processes", processes_json(report)},
           {"why", why_json(report)},
           {"jobs", jobs_json(jobs)},
           {"read", read_json(report, input)},
           {"words", parts_json(words)}};
  if (!report.kernel.empty()) out["kernel"] = kernel_json(report);
  if (report.first.any()) out["at_ns"] = report.first.at;
  if (auto cause = named_cause(report); !cause.empty()) out["cause"] = std::move(cause);
  return out;
}

}  // namespace nnd::cli
