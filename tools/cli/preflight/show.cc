#include "cli/preflight/show.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace nnd::cli {

using nlohmann::json;

namespace {

std::string count_text(std::size_t count) {
  return count == 1 ? "1 node" : fmt::format("{} nodes", count);
}

// "node1, node2 and 5 more".
std::string some_of(const std::vector<std::string>& hosts) {
  constexpr std::size_t kMost = 4;
  if (hosts.size() <= kMost) return fmt::format("{}", fmt::join(hosts, ", "));
  return fmt::format("{} and {} more", fmt::join(hosts.begin(), hosts.begin() + kMost, ", "),
                     hosts.size() - kMost);
}

std::string with_cause(const Finding& finding) {
  return finding.cause.empty() ? finding.text : fmt::format("{} [{}]", finding.text, finding.cause);
}

std::string good_news(const Allocation& allocation) {
  const auto nodes = count_text(allocation.hosts.size());
  if (allocation.pairs == 0)
    return fmt::format("go, as far as the nodes themselves can tell: {}, and nothing was sent.",
                       nodes);
  auto out = fmt::format("go: {}, and all {} pairs of HCAs that were tried can talk", nodes,
                         allocation.pairs);
  if (allocation.ranks != 0)
    out += fmt::format("; in a job of {} ranks every byte was right", allocation.ranks);
  return out + ".";
}

const Finding* first_bad(const Allocation& allocation) {
  return allocation.go() ? nullptr : &allocation.findings.front();
}

}  // namespace

std::string verdict_of(const Allocation& allocation, const std::vector<std::string>& problems) {
  const Finding* const bad = first_bad(allocation);
  if (bad == nullptr)
    return problems.empty() ? good_news(allocation)
                            : fmt::format("no verdict on all: {}", problems.front());
  const auto others = static_cast<std::size_t>(
      std::count_if(allocation.findings.begin(), allocation.findings.end(),
                    [](const Finding& one) { return one.weight != Weight::kNote; }) -
      1);
  std::string out = allocation.leave_out.empty()
                        ? fmt::format("no-go for these {}: ", count_text(allocation.hosts.size()))
                        : fmt::format("no-go: leave out {} of {}: ", some_of(allocation.leave_out),
                                      count_text(allocation.hosts.size()));
  out += with_cause(*bad);
  if (others != 0) out += fmt::format(" And {} more, below.", others);
  return out;
}

std::string page_of(const Allocation& allocation, const std::vector<std::string>& problems,
                    const Screen& screen) {
  std::string out;
  for (const auto& problem : problems) out += screen.wrap("Not examined: " + problem, 2) + "\n";
  if (!problems.empty()) out += "\n";
  for (const Finding& one : allocation.findings) {
    const auto colour = one.weight == Weight::kNote ? Colour::kYellow : Colour::kRed;
    out += screen.paint(fmt::format("{:9}", text_of(one.weight)), colour) + "  " +
           screen.wrap(with_cause(one), 11) + "\n";
    if (!one.remedy.empty()) out += "           " + screen.wrap(one.remedy, 11) + "\n";
  }
  if (!allocation.findings.empty()) out += "\n";
  if (allocation.pairs != 0)
    out += fmt::format("Pairs of HCAs that can talk: {} of {} that were tried.\n\n",
                       allocation.talked, allocation.pairs);
  if (allocation.ranks != 0)
    out += fmt::format("A job of {} ranks, one a node: every byte right.\n\n", allocation.ranks);
  if (!allocation.leave_out.empty()) {
    const auto names = fmt::format("{}", fmt::join(allocation.leave_out, ","));
    out += fmt::format(
        "To leave them out\n  Slurm       sbatch --exclude={}\n  Kubernetes  kubectl cordon {}\n\n",
        names, fmt::join(allocation.leave_out, " "));
  }
  if (!allocation.environment.empty()) {
    out += "Environment for a job\n";
    for (const auto& line : allocation.environment) out += "  " + line + "\n";
  }
  return out;
}

std::vector<std::string> lines_of(const Allocation& allocation) {
  std::vector<std::string> out;
  for (const Finding& one : allocation.findings)
    out.push_back(fmt::format("{}: {}", text_of(one.weight), with_cause(one)));
  return out;
}

json to_json(const Allocation& allocation, const std::vector<std::string>& problems) {
  json findings = json::array();
  for (const Finding& one : allocation.findings)
    findings.push_back({{"weight", text_of(one.weight)},
                        {"hosts", one.hosts},
                        {"hca", one.device.empty() ? json() : json(one.device)},
                        {"cause", one.cause.empty() ? json() : json(one.cause)},
                        {"msg", one.text},
                        {"fix", one.remedy}});
  return {{"go", allocation.go() && problems.empty()},
          {"hosts", allocation.hosts},
          {"leave_out", allocation.leave_out},
          {"findings", findings},
          {"environment", allocation.environment},
          {"pairs", {{"tried", allocation.pairs}, {"talked", allocation.talked}}},
          {"job", {{"ranks", allocation.ranks}}},
          {"problems", problems}};
}

}  // namespace nnd::cli
