#include "cli/ping/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "cli/common/text_table.h"
#include "cli/ping/allowed.h"

namespace nnd::cli {

namespace {

// With its host: there may be more than two.
std::string with_host(const PairEnd& end) {
  return fmt::format("{}/{}", end.host, end.port_name());
}

std::string error_text(const PairResult& pair) {
  std::string out;
  if (pair.error)
    out = fmt::format("{} ({})", pair.error_name(), *pair.error);
  else if (pair.status)
    out = fmt::format("status {} {}", *pair.status, pair.status_name);
  if (pair.told && !pair.told->cause.empty()) out += (out.empty() ? "" : " ") + pair.told->cause;
  return out.empty() ? pair.why : out;
}

std::string why_of(const PortDescription& port) {
  auto all = port.reasons;
  all.insert(all.end(), port.rules.begin(), port.rules.end());
  return or_dash(fmt::format("{}", fmt::join(all, ", ")));
}

void host_part(const HostDescription& host, const Screen& screen, std::string& out) {
  out += fmt::format("{}: NCCL {}, net v{}\n", host.host, or_dash(host.nccl),
                     or_dash(host.net_version));
  if (!host.problem.empty())
    out += screen.paint(screen.wrap("  PROBLEM: " + host.problem, 4), Colour::kRed) + "\n";
  TextTable table(
      {"HCA", "netdev", "Gbit/s", "MTU", "GID index", "GID", "subnet", "verdict", "why"});
  for (const auto& port : host.ports)
    table.add({port.port == 0 ? port.hca + ":-" : port.name(), or_dash(port.netdev),
               port.speed_mbps == 0
                   ? "-"
                   : fmt::format("{:g}", static_cast<double>(port.speed_mbps) / 1000),
               or_dash(port.mtu), or_dash(port.gid_index), or_dash(port.gid), or_dash(port.subnet),
               port.verdict, why_of(port)});
  if (!table.empty()) out += table.render(screen);
  for (const auto& verdict : host.verdicts)
    out += screen.wrap(fmt::format("  {} {} [{}, {}]", verdict.decision, verdict.fact, verdict.rule,
                                   verdict.cause),
                       4) +
           "\n" + screen.wrap("          " + verdict.remedy, 10) + "\n";
  out += "\n";
}

void grid_part(const PingGrid& grid, const Screen& screen, std::string& out) {
  out +=
      fmt::format("Rows: {}, columns: {}; a number is the errno\n", grid.from_host, grid.to_host);
  std::vector<std::string> headings{""};
  headings.insert(headings.end(), grid.columns.begin(), grid.columns.end());
  TextTable table(headings);
  for (const auto& row : grid.rows) {
    std::vector<std::string> line{row};
    for (const auto& column : grid.columns) {
      const auto pair = grid.pairs.find({row, column});
      line.push_back(pair == grid.pairs.end() ? "-" : ping_cell(*pair->second));
    }
    table.add(std::move(line));
  }
  out += table.render(screen) + "\n";
}

void reachable_part(const std::vector<PairResult>& pairs, const Screen& screen, std::string& out) {
  TextTable table({"from", "to", "GIDs", "MTU", "connect ms", "p50 us", "p99 us", "size",
                   "GB/s there", "back", "allowed", "of it", "policy"});
  for (const auto& pair : pairs) {
    if (!pair.reachable()) continue;
    std::vector<std::string> first{
        with_host(pair.from),
        with_host(pair.to),
        fmt::format("{} - {}", or_dash(pair.from.gid), or_dash(pair.to.gid)),
        or_dash(pair.path_mtu),
        rounded(pair.connect_ms),
        rounded(pair.latency->p50_us),
        rounded(pair.latency->p99_us)};
    std::string policy = pair.policy();
    auto allowed = or_dash(pair.allowed ? rough(pair.allowed->gb_per_s) : "");
    for (const auto& row : pair.bandwidth) {
      auto line = first;
      line.push_back(size_text(row.size));
      line.push_back(fmt::format("{:.3f}", row.there_gb_per_s));
      line.push_back(fmt::format("{:.3f}", row.back_gb_per_s));
      line.push_back(allowed);
      line.push_back(share_text(pair, row));
      line.push_back(policy);
      table.add(std::move(line));
      first.assign(first.size(), "");
      policy.clear();
      allowed.clear();
    }
  }
  if (!table.empty()) out += table.render(screen) + "\n";
}

// What is true of many pairs is said once, with the sentence of the first.
void others_part(const std::vector<PairResult>& pairs, const Screen& screen, std::string& out) {
  const auto groups = ping_groups(pairs);
  for (const auto& group : groups) {
    out += screen.wrap(fmt::format("{}: {} pair{} ({})", group.what, group.pairs.size(),
                                   group.pairs.size() == 1 ? "" : "s",
                                   names_of(group, screen.verbose() ? pairs.size() : 4)),
                       2) +
           "\n";
    const auto& first = *group.pairs.front();
    if (first.told)
      for (const auto& text : {first.told->msg, first.told->fix})
        if (!text.empty()) out += screen.wrap("  " + text, 4) + "\n";
    if (!first.nccl_warning.empty()) out += screen.wrap("  NCCL: " + first.nccl_warning, 4) + "\n";
  }
  if (!groups.empty()) out += "\n";
}

void environment_part(const std::vector<HostDescription>& hosts, std::string& out) {
  std::vector<std::pair<std::string, std::string>> found;  // text, hosts
  for (const auto& host : hosts) {
    std::string text;
    for (const auto& line : host.proposal) text += fmt::format("  {}\n", line);
    if (!found.empty() && found.back().first == text)
      found.back().second += ", " + host.host;
    else if (!text.empty())
      found.emplace_back(text, host.host);
  }
  for (const auto& [text, names] : found)
    out += fmt::format("Environment for a job ({}):\n{}\n", names, text);
}

}  // namespace

std::string size_text(std::size_t bytes) {
  if (bytes >= 1U << 20U && bytes % (1U << 20U) == 0) return fmt::format("{}M", bytes >> 20U);
  if (bytes >= 1U << 10U && bytes % (1U << 10U) == 0) return fmt::format("{}K", bytes >> 10U);
  return std::to_string(bytes);
}

std::vector<PingGroup> ping_groups(const std::vector<PairResult>& pairs) {
  std::vector<PingGroup> out;
  for (const auto& pair : pairs) {
    if (pair.reachable()) continue;
    const auto what = fmt::format("{} {}", text_of(pair.state), error_text(pair));
    auto found = std::find_if(out.begin(), out.end(),
                              [&](const PingGroup& group) { return group.what == what; });
    if (found == out.end()) found = out.insert(out.end(), {what, {}});
    found->pairs.push_back(&pair);
  }
  return out;
}

std::string names_of(const PingGroup& group, std::size_t most) {
  std::string names;
  for (std::size_t i = 0; i < std::min(most, group.pairs.size()); ++i)
    names += fmt::format("{}{} - {}", i == 0 ? "" : ", ", with_host(group.pairs[i]->from),
                         with_host(group.pairs[i]->to));
  if (group.pairs.size() > most) names += fmt::format(" and {} more", group.pairs.size() - most);
  return names;
}

std::string rounded(const std::optional<double>& value) {
  return value ? fmt::format("{:.1f}", *value) : "-";
}

std::string share_text(const PairResult& pair, const Bandwidth& row) {
  return pair.allowed ? fmt::format("{:.1f}%", 100 * row.slower() / pair.allowed->gb_per_s) : "-";
}

std::string ping_cell(const PairResult& pair) {
  if (pair.reachable()) return "ok";
  if (pair.state == PairState::kUnreachable && pair.error) return std::to_string(*pair.error);
  return text_of(pair.state);
}

std::string ping_outcome(const PairResult& pair) {
  return fmt::format("{} -> {}  {}{}", with_host(pair.from), with_host(pair.to),
                     text_of(pair.state), pair.reachable() ? "" : "  " + error_text(pair));
}

std::string ping_line(const PairResult& pair) {
  auto out = ping_outcome(pair);
  if (!pair.reachable()) return out;
  out += fmt::format("  p50 {:.1f} us", pair.latency->p50_us);
  for (const auto& row : pair.bandwidth)
    out += fmt::format("  {}: {:.3f}/{:.3f} GB/s", size_text(row.size), row.there_gb_per_s,
                       row.back_gb_per_s);
  return out;
}

std::string render_ping(const PingResult& result, const Screen& screen) {
  std::string out;
  for (const auto& fault : result.broken)
    out += screen.paint(screen.wrap("Not fine: " + fault, 2), Colour::kRed) + "\n";
  for (const auto& slow : result.slow)
    out += screen.paint(screen.wrap("Slow: " + slow, 2), Colour::kYellow) + "\n";
  if (!result.broken.empty() || !result.slow.empty()) out += "\n";
  for (const auto& host : result.hosts) host_part(host, screen, out);
  if (result.scope.matrix)
    for (const auto& grid : ping_grids(result.pairs)) grid_part(grid, screen, out);
  reachable_part(result.pairs, screen, out);
  for (const auto& note : result.notes) out += screen.wrap(note, 2) + "\n";
  if (!result.notes.empty()) out += "\n";
  others_part(result.pairs, screen, out);
  environment_part(result.hosts, out);
  return out;
}

}  // namespace nnd::cli
