#include "cli/common/troubles.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "cli/common/event_json.h"
#include "cli/common/number_list.h"
#include "cli/common/text_table.h"

namespace nnd::cli {

namespace {

using log::Severity;

struct Group {
  const Trouble* first = nullptr;
  std::set<std::string> sentences, hosts;
  std::set<int> ranks;
  std::size_t count = 0;
};

auto key_of(const Trouble& trouble) {
  const auto& told = trouble.diagnosis;
  return std::tuple(told.severity, told.cause, told.dev.name, told.fix);
}

std::vector<Group> grouped(const std::vector<Trouble>& troubles, bool each) {
  std::vector<Group> out;
  for (const auto& trouble : troubles) {
    auto found = std::find_if(out.begin(), out.end(), [&](const Group& group) {
      return !each && key_of(*group.first) == key_of(trouble);
    });
    if (found == out.end()) found = out.insert(out.end(), {&trouble, {}, {}, {}, 0});
    found->sentences.insert(trouble.diagnosis.msg);
    if (trouble.rank) found->ranks.insert(*trouble.rank);
    found->hosts.insert(trouble.host);
    ++found->count;
  }
  std::stable_sort(out.begin(), out.end(), [](const Group& a, const Group& b) {
    return a.first->diagnosis.severity > b.first->diagnosis.severity;
  });
  return out;
}

template <typename Counts>
const log::Diagnosis* earliest(const std::vector<Trouble>& troubles, Counts counts) {
  const log::Diagnosis* out = nullptr;
  for (const auto& trouble : troubles)
    if (counts(trouble.diagnosis) && (out == nullptr || trouble.diagnosis.ts < out->ts))
      out = &trouble.diagnosis;
  return out;
}

std::string whose(const Group& group) {
  const auto ranks = rank_list(group.ranks);
  const auto hosts = fmt::format("{}", fmt::join(group.hosts, ", "));
  if (ranks.empty()) return hosts;
  return group.hosts.size() > 4 ? ranks : fmt::format("{} ({})", ranks, hosts);
}

}  // namespace

nlohmann::json to_json(const Trouble& trouble) {
  auto out = to_json(trouble.diagnosis);
  out["host"] = trouble.host;
  if (trouble.rank) out["rank"] = *trouble.rank;
  return out;
}

Trouble trouble_from(const Fields& fields) {
  return {fields.text("host"), fields.number_if<int>("rank"), diagnosis_from(fields)};
}

std::vector<Trouble> troubles_of(const log::Job& job) {
  std::vector<Trouble> out;
  for (const auto* process : job.processes())
    for (const auto& diagnosis : process->diagnoses)
      if (diagnosis.severity != Severity::kInfo)
        out.push_back({process->host, process->rank, diagnosis});
  return out;
}

const log::Diagnosis* first_error(const std::vector<Trouble>& troubles) {
  return earliest(troubles, [](const log::Diagnosis& told) {
    return told.severity == Severity::kError && told.event != "policy.refuse";
  });
}

const log::Diagnosis* first_failure(const std::vector<Trouble>& troubles) {
  if (const auto* error = first_error(troubles)) return error;
  return earliest(troubles, [](const log::Diagnosis& told) { return told.failure.has_value(); });
}

std::string in_words(const log::Diagnosis& told) {
  return fmt::format("{}: {} {}", or_dash(told.cause), told.msg, told.fix);
}

std::string trouble_lines(const std::vector<Trouble>& troubles, const Screen& screen) {
  std::string out;
  for (const auto& group : grouped(troubles, screen.verbose())) {
    const auto& told = group.first->diagnosis;
    const bool error = told.severity == Severity::kError;
    auto text = fmt::format("  {} {}: {}: {}", error ? "error" : "warn", whose(group),
                            or_dash(told.cause), or_dash(told.msg));
    if (group.sentences.size() > 1) text += fmt::format(" (and {} more like it)", group.count - 1);
    out += screen.paint(screen.wrap(text, 4), error ? Colour::kRed : Colour::kYellow) + "\n";
    if (!told.fix.empty()) out += screen.wrap("    " + told.fix, 4) + "\n";
  }
  return out;
}

}  // namespace nnd::cli
