#include "report/restart.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>

#include "nccl_net_diag/causes.h"

namespace nnd::report {

namespace {

using Domain = Restart::Domain;
using Confidence = Restart::Confidence;
using Retry = Restart::Retry;
using nccl_net_diag::Cause;

// Links, ports and peers come and go; what a node or a job is set to stays.
bool passes(Cause cause) {
  switch (cause) {
    case Cause::kWc5:
    case Cause::kWc12:
    case Cause::kWc13:
    case Cause::kAsyncPort:
    case Cause::kAsyncFatal:
    case Cause::kLinkFlap:
    case Cause::kLinkErrors:
    case Cause::kDevDown:
    case Cause::kDevSilent:
    case Cause::kQp110:
    case Cause::kHangConnect:
    case Cause::kHangData:
      return true;
    default:
      return false;
  }
}

Retry retry_after(const Restart& out, bool may_pass) {
  if (!may_pass) return Retry::kAfterFix;
  return out.exclude.empty() ? Retry::kUnknown : Retry::kWithout;
}

Place node_of(const std::string& host) {
  Place out;
  out.host = host;
  return out;
}

std::optional<Cause> cause_of(const Report& report) {
  if (report.kind == Kind::kFailed && !report.first.roots.empty())
    return nccl_net_diag::find_cause(report.first.roots.front().told->cause);
  return std::nullopt;
}

// What explains most of what fails.
void add(Restart& out, const Culprit& culprit) {
  switch (culprit.kind) {
    case Culprit::Kind::kHca:
    case Culprit::Kind::kPort:
      out.domain = Domain::kHca;
      out.exclude.push_back(culprit.place);
      break;
    case Culprit::Kind::kHost:
      if (culprit.other.host.empty()) {
        out.domain = Domain::kNode;
        out.exclude.push_back(node_of(culprit.place.host));
      } else {
        out.domain = Domain::kPair;
        out.suspects = {node_of(culprit.place.host), node_of(culprit.other.host)};
      }
      break;
    case Culprit::Kind::kPair:
      out.domain = Domain::kPair;
      out.suspects = {culprit.place, culprit.other};
      break;
    case Culprit::Kind::kRail:
      out.domain = Domain::kRail;
      break;
    case Culprit::Kind::kSubnet:
    case Culprit::Kind::kPlane:
    case Culprit::Kind::kBetween:
    case Culprit::Kind::kAll:
      out.domain = Domain::kFabric;
      break;
  }
}

// The first names the domain, each that is as narrow what to leave out.
void add_culprits(Restart& out, const Report& report) {
  for (const auto& culprit : report.culprits) {
    Restart one;
    add(one, culprit);
    if (&culprit == &report.culprits.front()) out.domain = one.domain;
    out.exclude.insert(out.exclude.end(), one.exclude.begin(), one.exclude.end());
    out.suspects.insert(out.suspects.end(), one.suspects.begin(), one.suspects.end());
  }
}

// Who has what the others don't have, where that is known to be wrong.
void add_difference(Restart& out, const Report& report) {
  const Deviation& odd = report.odd[report.difference->odd];
  out.domain = Domain::kJob;
  out.retry = Retry::kAfterFix;
  out.confidence = Confidence::kLikely;
  const bool minority = odd.usual_count != 0 && odd.others.size() == 1;
  const bool guilty = report.difference->guilty.has_value();
  if (!minority && !guilty) return;
  std::set<std::string> hosts;
  for (const auto member : odd.others[report.difference->guilty.value_or(0)].members)
    hosts.insert(report.picture.host_of(member).name);
  for (const auto& host : hosts) out.exclude.push_back(node_of(host));
  if (hosts.size() == 1) out.domain = Domain::kNode;
}

// The other end may have died: nobody is known to be bad.
void leave_open(Restart& out) {
  out.suspects.insert(out.suspects.end(), out.exclude.begin(), out.exclude.end());
  out.exclude.clear();
  out.confidence = Confidence::kOpen;
  out.retry = Retry::kUnknown;
}

void add_network(Restart& out, const Report& report) {
  add_culprits(out, report);
  const bool own = report.kind == Kind::kFailed && is_own(report.first.roots.front().reach);
  const bool proved = own || !report.first.signs.empty() ||
                      (report.culprits.size() == 1 && report.culprits.front().explained > 1 &&
                       report.culprits.front().explained == report.culprits.front().failing);
  out.confidence = proved && !out.exclude.empty() ? Confidence::kSure : Confidence::kLikely;
  const auto cause = cause_of(report);
  const bool wide = out.domain == Domain::kRail || out.domain == Domain::kFabric;
  out.retry = retry_after(out, (!cause || passes(*cause)) && !wide);
  if (report.blame == Blame::kOpen) leave_open(out);
}

// All processes of a node that had several went at once.
void add_lost(Restart& out, const Report& report) {
  std::set<std::size_t> lost;
  std::set<std::size_t> hosts;
  for (const auto& loss : report.first.losses) {
    lost.insert(loss.member);
    hosts.insert(report.picture.members[loss.member].host);
  }
  out.domain = Domain::kProcess;
  out.confidence = report.blame == Blame::kNotNetwork ? Confidence::kSure : Confidence::kOpen;
  const auto& first = report.picture.hosts[*hosts.begin()];
  const bool died = std::none_of(report.first.losses.begin(), report.first.losses.end(),
                                 [](const Loss& loss) { return loss.clean; });
  if (hosts.size() != 1 || !died || first.members.size() < 2 ||
      !std::all_of(first.members.begin(), first.members.end(),
                   [&](std::size_t member) { return lost.contains(member); }))
    return;
  out.domain = Domain::kNode;
  out.confidence = Confidence::kLikely;
  out.suspects.push_back(node_of(first.name));
}

void add_hang(Restart& out, const Report& report) {
  if (report.blame == Blame::kNetwork) return add_network(out, report);
  if (report.waits.sinks.empty()) return;
  const Sink& sink = report.waits.sinks.front();
  if (sink.kind == Sink::Kind::kMismatched) {
    out = {Domain::kJob, Confidence::kSure, Retry::kAfterFix, {}, {}};
  } else if (is_known(sink.kind)) {
    out.domain = Domain::kProcess;
    out.confidence = report.blame == Blame::kNotNetwork ? Confidence::kLikely : Confidence::kOpen;
    if (sink.kind == Sink::Kind::kStopped && sink.members.size() == 1)
      out.suspects.push_back(node_of(report.picture.host_of(sink.members.front()).name));
  }
}

// An HCA that a foreign log names: "mlx5_0:1".
void add_device(Restart& out, const foreign::Fact& told) {
  if (told.dev.empty()) return;
  Place place;
  place.host = told.writer.host;
  place.dev = told.dev.substr(0, told.dev.find(':'));
  const auto reach = nccl_net_diag::cause_entry(*told.cause).reach;
  const bool own = is_own(reach);
  out.domain = own ? Domain::kHca : Domain::kPair;
  (own ? out.exclude : out.suspects).push_back(place);
}

}  // namespace

const char* name_of(Domain domain) {
  constexpr std::array kNames{"nothing", "process", "hca", "node",   "pair",
                              "rail",    "fabric",  "job", "unknown"};
  return kNames[static_cast<std::size_t>(domain)];
}

const char* name_of(Confidence confidence) {
  constexpr std::array kNames{"sure", "likely", "open"};
  return kNames[static_cast<std::size_t>(confidence)];
}

const char* name_of(Retry retry) {
  constexpr std::array kNames{"not-needed", "as-is", "without", "after-fix", "unknown"};
  return kNames[static_cast<std::size_t>(retry)];
}

Restart restart_of(const Report& report) {
  Restart out;
  if (report.difference && report.found_cause()) {
    add_difference(out, report);
    return out;
  }
  switch (report.kind) {
    case Kind::kHealthy:
    case Kind::kRunning:
    case Kind::kStarting:
      return {Domain::kNothing, Confidence::kSure, Retry::kNotNeeded, {}, {}};
    case Kind::kEnded:
      return {Domain::kNothing,
              report.blame == Blame::kOpen ? Confidence::kOpen : Confidence::kLikely,
              Retry::kAsIs,
              {},
              {}};
    case Kind::kFailed:
      if (report.blame == Blame::kOpen && report.culprits.empty()) return out;
      add_network(out, report);
      return out;
    case Kind::kLost:
      if (!report.first.losses.empty()) add_lost(out, report);
      return out;
    case Kind::kHang:
      add_hang(out, report);
      return out;
    case Kind::kSlow:
      for (const auto& one : report.slow)
        if (one.ports != 0) out.exclude.push_back(one.place);
      if (out.exclude.empty()) return out;
      return {Domain::kHca, Confidence::kLikely, Retry::kWithout, out.exclude, {}};
    case Kind::kDegraded:
      add_network(out, report);
      out.confidence = std::max(out.confidence, Confidence::kLikely);
      return out;
    case Kind::kMissing:
    case Kind::kCount:
      break;
  }
  return out;
}

Restart restart_of(const ForeignFindings& others) {
  Restart out;
  if (!others.found()) {
    if (others.blame == Blame::kNone)
      out = {Domain::kNothing, Confidence::kOpen, Retry::kUnknown, {}, {}};
    return out;
  }
  if (others.killed_first || others.raised_first || others.ended_first) {
    out.domain = Domain::kProcess;
    out.confidence = others.blame == Blame::kNotNetwork ? Confidence::kSure : Confidence::kOpen;
    return out;
  }
  if (others.cancelled_first) {
    out.domain = Domain::kNode;
    return out;
  }
  if (others.flight_first) {
    if (others.flight->kind == Flight::Kind::kMismatched)
      return {Domain::kJob, Confidence::kSure, Retry::kAfterFix, {}, {}};
    if (others.flight->kind == Flight::Kind::kBehind)
      return {Domain::kProcess, Confidence::kSure, Retry::kUnknown, {}, {}};
    return out;
  }
  const foreign::Fact* const told = others.headline();
  if (others.ras_first || told == nullptr || !told->cause) return out;
  const auto reach = nccl_net_diag::cause_entry(*told->cause).reach;
  out.confidence = others.blame == Blame::kOpen ? Confidence::kOpen : Confidence::kLikely;
  if (reach == Reach::kJob) out.domain = Domain::kJob;
  if (reach == Reach::kNode) {
    out.domain = Domain::kNode;
    if (!told->writer.host.empty()) out.exclude.push_back(node_of(told->writer.host));
  }
  add_device(out, *told);
  if (others.blame == Blame::kNotNetwork && out.domain == Domain::kUnknown)
    out.domain = Domain::kProcess;
  out.retry = retry_after(out, passes(*told->cause));
  if (out.confidence == Confidence::kOpen) leave_open(out);
  return out;
}

}  // namespace nnd::report
