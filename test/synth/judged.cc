#include "synth/judged.h"

#include <fmt/format.h>

#include <algorithm>

namespace nnd::synth {

namespace {

using report::Blame;
using report::Culprit;
using report::Kind;

struct Expected {
  Kind kind;
  Blame blame;
  std::optional<Culprit::Kind> culprit = {};
};

Expected expected_of(Fault fault) {
  switch (fault) {
    case Fault::kCable:
    case Fault::kCableTold:
    case Fault::kWrongSubnet:
      return {Kind::kFailed, Blame::kNetwork, Culprit::Kind::kHca};
    case Fault::kPlane:
      return {Kind::kFailed, Blame::kNetwork, Culprit::Kind::kPlane};
    case Fault::kPort:
      return {Kind::kFailed, Blame::kNetwork, Culprit::Kind::kPort};
    case Fault::kRail:
      return {Kind::kFailed, Blame::kNetwork, Culprit::Kind::kRail};
    case Fault::kMemlock:
      return {Kind::kFailed, Blame::kNetwork, Culprit::Kind::kHost};
    case Fault::kNodeDied:
    case Fault::kRankDied:
    case Fault::kRankLeft:
      return {Kind::kLost, Blame::kNotNetwork};
    case Fault::kRankMissing:
      return {Kind::kMissing, Blame::kOpen};
    case Fault::kRankIdle:
    case Fault::kMismatched:
      return {Kind::kHang, Blame::kNotNetwork};
    case Fault::kStuckHca:
      return {Kind::kHang, Blame::kNetwork, Culprit::Kind::kHca};
    case Fault::kSlowHca:
      return {Kind::kSlow, Blame::kNetwork};
    case Fault::kNone:
    case Fault::kOtherVariable:
    case Fault::kCount:
      break;
  }
  return {Kind::kHealthy, Blame::kNone};
}

std::string named_rank(const report::Report& report) {
  std::set<int> ranks;
  const auto add = [&](std::size_t member) {
    if (report.picture.members[member].rank) ranks.insert(*report.picture.members[member].rank);
  };
  if (report.kind == Kind::kLost)
    for (const auto& loss : report.first.losses) add(loss.member);
  if (report.kind == Kind::kMissing) ranks = report.missing.ranks;
  if (report.kind == Kind::kHang && !report.waits.sinks.empty())
    for (const auto member : report.waits.sinks.front().members) add(member);
  return fmt::format("{}", fmt::join(ranks, ","));
}

std::string lost_hosts(const report::Report& report) {
  std::set<std::string> hosts;
  for (const auto& loss : report.first.losses)
    hosts.insert(report.picture.members[loss.member].log->host);
  return fmt::format("{}", fmt::join(hosts, ","));
}

}  // namespace

std::string wrong_about(const report::Report& report, const Spec& spec, const Planted& planted) {
  const auto expected = expected_of(spec.fault);
  // Where a log was cut off, nobody can say that all has ended.
  const bool fine = expected.kind == Kind::kHealthy && report.kind == Kind::kRunning;
  if ((report.kind != expected.kind && !fine) || report.blame != expected.blame)
    return fmt::format("{} ({})", report::name_of(report.kind), report::name_of(report.blame));
  if (expected.culprit) {
    if (report.culprits.empty()) return "no culprit";
    const auto& first = report.culprits.front();
    const bool host = planted.host.empty() || first.place.host == planted.host;
    const bool dev = planted.dev.empty() || first.place.dev == planted.dev;
    // Of two cables the one or the other.
    const bool second = spec.second == Fault::kCable && first.kind == Culprit::Kind::kHca &&
                        first.place.host == planted.second->host &&
                        first.place.dev == planted.second->dev;
    if (!second && (first.kind != *expected.culprit || !host || !dev))
      return fmt::format("culprit {} {} {}", static_cast<int>(first.kind), first.place.host,
                         first.place.dev);
  }
  if (planted.rank && named_rank(report) != std::to_string(*planted.rank))
    return "ranks " + named_rank(report);
  if (spec.fault == Fault::kNodeDied && lost_hosts(report) != planted.host)
    return "hosts " + lost_hosts(report);
  if (spec.fault == Fault::kSlowHca && (report.slow.front().place.host != planted.host ||
                                        report.slow.front().place.dev != planted.dev))
    return "slow " + report.slow.front().place.host;
  if (spec.fault == Fault::kOtherVariable &&
      (report.odd.empty() || report.odd.front().what != "NCCL_IB_TC" ||
       report.odd.front().others.front().who != std::vector{planted.host}))
    return "odd ones out";
  return {};
}

std::string false_about(const report::Report& report, const Spec& spec, const Planted& planted) {
  const auto expected = expected_of(spec.fault);
  const auto said =
      fmt::format("{} ({})", report::name_of(report.kind), report::name_of(report.blame));
  // A rank that is missing and one that is not here look alike, and a wait has many ends.
  if (report.blame == Blame::kNetwork && expected.blame != Blame::kNetwork) return said;
  if (report.blame == Blame::kNotNetwork && expected.blame == Blame::kNetwork) return said;
  if (report.blame == Blame::kNotNetwork && planted.rank && !named_rank(report).empty() &&
      named_rank(report) != std::to_string(*planted.rank))
    return said + ", ranks " + named_rank(report);
  if (report.blame != Blame::kNetwork || !expected.culprit || report.culprits.empty()) return {};
  // The pair that is left may be all that is seen of an HCA.
  const auto& first = report.culprits.front();
  const auto fits = [&](const report::Place& place) {
    return (planted.host.empty() || place.host.empty() || place.host == planted.host) &&
           (planted.dev.empty() || place.dev.empty() || place.dev == planted.dev);
  };
  if (fits(first.place) || fits(first.other)) return {};
  return fmt::format("{}, culprit {} {} {}", said, static_cast<int>(first.kind), first.place.host,
                     first.place.dev);
}

}  // namespace nnd::synth
