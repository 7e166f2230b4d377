#include "cli/report/why.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "cli/common/time_text.h"
#include "cli/report/names.h"
#include "cli/report/sink_text.h"
#include "cli/report/verdict.h"

namespace nnd::cli {

using report::Observation;
using report::Report;
using ObservationKind = Observation::Kind;

namespace {

constexpr std::size_t kMostReasons = 200;

// A cause, "stuck-send", "died": what makes observations of a kind alike.
std::string detail_of(const Report& report, const Observation& one) {
  switch (one.kind) {
    case ObservationKind::kSign:
    case ObservationKind::kFailure:
      return report.failures[one.index].told->cause;
    case ObservationKind::kStuck:
    case ObservationKind::kWait:
      return report.waits.waits[one.index].stall->kind;
    case ObservationKind::kEnd:
      return report.ends[one.index].kind == report::End::Kind::kLeft ? "ended by itself" : "died";
    case ObservationKind::kSink:
      return sink_text(report, report.waits.sinks[one.index]);
    case ObservationKind::kMissing:
      return missing_text(report.missing);
    case ObservationKind::kMaking:
    case ObservationKind::kCount:
      break;
  }
  return {};
}

// Observations that are alike, and are explained alike.
struct Group {
  ObservationKind kind = ObservationKind::kFailure;
  Observation::How how = Observation::How::kNone;
  std::string detail, by;
  std::vector<std::size_t> members;
  std::size_t count = 0;
  report::Span when;
};

std::string name_of(const Report& report, std::size_t i) {
  const auto& one = report.observations[i];
  const auto detail = detail_of(report, one);
  const std::string whose = one.member && one.kind != ObservationKind::kSink
                                ? " of " + who(report.picture, {*one.member})
                                : "";
  return fmt::format("{}{}{}", report::name_of(one.kind), detail.empty() ? "" : " " + detail,
                     whose);
}

std::vector<Group> groups_of(const Report& report) {
  std::map<std::tuple<bool, ObservationKind, std::string, std::string, Observation::How>, Group>
      all;
  for (const auto& one : report.observations) {
    const std::string by = one.by ? name_of(report, *one.by) : "";
    auto detail = detail_of(report, one);
    Group& group = all[{one.by.has_value(), one.kind, detail, by, one.how}];
    if (group.count++ == 0) group.when = one.when;
    group.kind = one.kind;
    group.how = one.how;
    group.detail = std::move(detail);
    group.by = by;
    group.when.from = std::min(group.when.from, one.when.from);
    group.when.to = std::max(group.when.to, one.when.to);
    if (one.member) group.members.push_back(*one.member);
  }
  std::vector<Group> out;
  for (auto& [key, group] : all) {
    std::sort(group.members.begin(), group.members.end());
    group.members.erase(std::unique(group.members.begin(), group.members.end()),
                        group.members.end());
    out.push_back(std::move(group));
  }
  std::stable_sort(out.begin(), out.end(), [](const Group& a, const Group& b) {
    return std::pair(!a.by.empty(), a.when.from) < std::pair(!b.by.empty(), b.when.from);
  });
  return out;
}

}  // namespace

std::vector<std::string> why_lines(const Report& report) {
  std::vector<std::string> out;
  for (const auto& group : groups_of(report)) {
    const std::string whose = group.members.empty() || group.kind == ObservationKind::kSink
                                  ? ""
                                  : ", " + who(report.picture, group.members);
    out.push_back(fmt::format(
        "{}: {} {}{}{}, {} to {}{}.", group.by.empty() ? "root" : "ruled out", group.count,
        report::name_of(group.kind), group.detail.empty() ? "" : " " + group.detail, whose,
        clock_text(group.when.from), clock_text(group.when.to),
        group.by.empty() ? "" : fmt::format("; {} {}", report::name_of(group.how), group.by)));
  }
  return out;
}

nlohmann::json why_json(const Report& report) {
  nlohmann::json observations = nlohmann::json::array(), ruled_out = nlohmann::json::array();
  for (const auto& group : groups_of(report)) {
    nlohmann::json one{{"kind", report::name_of(group.kind)},
                       {"count", group.count},
                       {"from_ns", group.when.from},
                       {"to_ns", group.when.to}};
    if (!group.detail.empty()) one["what"] = group.detail;
    if (!group.members.empty()) one["who"] = who(report.picture, group.members);
    if (!group.by.empty()) {
      one["how"] = report::name_of(group.how);
      one["by"] = group.by;
    }
    auto& list = group.by.empty() ? observations : ruled_out;
    if (list.size() < kMostReasons) list.push_back(std::move(one));
  }
  return {{"roots", std::move(observations)}, {"ruled_out", std::move(ruled_out)}};
}

}  // namespace nnd::cli
