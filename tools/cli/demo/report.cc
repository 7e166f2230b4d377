#include "cli/demo/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "cli/common/event_json.h"
#include "cli/common/number_list.h"
#include "cli/common/text_table.h"
#include "cli/common/troubles.h"

namespace nnd::cli {

using nlohmann::json;

namespace {

json process_json(const log::Process& process) {
  return {{"host", process.host},
          {"pid", process.pid},
          {"proc", process.proc},
          {"rank", process.rank.value_or(-1)},
          {"version", process.version},
          {"nccl", process.nccl_version},
          {"net_api", process.net_api.value_or(0)},
          {"wraps", process.wraps.name.empty() ? "nothing" : process.wraps.name},
          {"found_by", process.wraps.method},
          {"layers", process.layers},
          {"log", process.log}};
}

double qp_us(const log::Connection& connection) {
  double sum = 0;
  for (const auto& transition : connection.transitions) sum += transition.dur_us;
  return sum;
}

// "INIT", "RTR", "RTS" of each of its QPs, by number. The log samples attempts that fail alike, but
// each says which one it was.
std::map<std::string, std::vector<std::string>> qp_states(const log::Connection& connection) {
  std::map<std::string, std::vector<std::string>> out;
  for (const auto& transition : connection.transitions) {
    auto& states = out[std::to_string(transition.qp.num.value_or(0))];
    auto state = transition.qp.to;
    if (transition.failed()) {
      state += transition.error ? fmt::format(" failed (errno {})", *transition.error) : " failed";
      if (!states.empty() && states.back().starts_with(state)) states.pop_back();
      if (const int attempt = transition.qp.attempt.value_or(1); attempt > 1)
        state += fmt::format(" {} times", attempt);
    }
    states.push_back(std::move(state));
  }
  return out;
}

json connection_json(const log::Process& process, std::uint64_t number,
                     const log::Connection& connection) {
  json out{{"proc", process.proc},
           {"host", process.host},
           {"conn", number},
           {"dir", log::name_of(*connection.dir)},
           {"dev", connection.dev.name.empty() ? "?" : connection.dev.name}};
  if (!connection.link.proc.empty()) out["link"] = to_json(connection.link);
  if (auto peer = to_json(connection.peer); !peer.empty()) out["peer"] = std::move(peer);
  if (connection.ready_us) out["ready_us"] = *connection.ready_us;
  if (connection.bytes) out["bytes"] = *connection.bytes;
  if (connection.completed) out["completed"] = *connection.completed;
  if (connection.failed) out["failed"] = *connection.failed;
  if (connection.lived_us) out["lived_us"] = *connection.lived_us;
  if (!connection.transitions.empty()) {
    out["qps"] = qp_states(connection);
    out["qp_us"] = qp_us(connection);
  }
  return out;
}

// A dash where nothing took any time.
std::string milliseconds(double us) { return us > 0 ? fmt::format("{:.2f}", us / 1000) : "-"; }

std::set<int> rank_of(const log::Process& process) {
  return process.rank ? std::set<int>{*process.rank} : std::set<int>{};
}

// Rows that differ in their ranks only, as one; on a verbose screen each.
class RankRows {
 public:
  explicit RankRows(const Screen& screen) : each_(screen.verbose()) {}

  void add(const std::set<int>& ranks, TextTable::Row row) {
    auto same = std::find_if(rows_.begin(), rows_.end(),
                             [&](const auto& other) { return !each_ && other.second == row; });
    if (same == rows_.end()) same = rows_.insert(rows_.end(), {{}, std::move(row)});
    same->first.insert(ranks.begin(), ranks.end());
  }
  void move_to(TextTable& table) {
    for (auto& [ranks, row] : rows_) {
      row.insert(row.begin(), number_list(ranks));
      table.add(std::move(row));
    }
  }

 private:
  bool each_;
  std::vector<std::pair<std::set<int>, TextTable::Row>> rows_;
};

std::string process_lines(const log::Job& job, const Screen& screen) {
  std::map<std::string, std::set<int>> said;
  for (const auto* process : job.processes())
    if (process->loaded)
      said[fmt::format("NCCL {}, net v{}, wraps {} (found by {}), layers: {}",
                       or_dash(process->nccl_version), or_dash(process->net_api),
                       process->wraps.name.empty() ? "nothing" : process->wraps.name,
                       or_dash(process->wraps.method),
                       or_dash(fmt::format("{}", fmt::join(process->layers, ", "))))]
          .merge(rank_of(*process));
  std::string out;
  for (const auto& [text, ranks] : said)
    out += screen.wrap(fmt::format("{}: {}", rank_list(ranks), text), 2) + "\n";
  return out;
}

std::string hca_table(const log::Job& job, const Screen& screen) {
  RankRows rows(screen);
  for (const auto* process : job.processes())
    for (const auto& hca : process->hcas)
      rows.add(rank_of(*process),
               {process->host, or_dash(hca.dev.name), or_dash(hca.dev.port),
                or_dash(hca.dev.netdev), or_dash(hca.dev.link_layer),
                fmt::format("{:g}", static_cast<double>(hca.dev.speed_mbps.value_or(0)) / 1000),
                or_dash(hca.dev.gid), or_dash(hca.dev.subnet), or_dash(hca.state), hca.verdict,
                or_dash(fmt::format("{}", fmt::join(hca.reasons, ", ")))});
  TextTable table({"rank", "host", "HCA", "port", "netdev", "link", "Gbit/s", "GID", "subnet",
                   "state", "verdict", "reasons"});
  rows.move_to(table);
  return table.render(screen);
}

// "2 x INIT RTR RTS", or each QP's way where they differ.
std::string qp_ways(const log::Connection& connection) {
  std::map<std::string, int> ways;
  for (const auto& [qp, states] : qp_states(connection))
    ++ways[fmt::format("{}", fmt::join(states, " "))];
  std::string out;
  for (const auto& [way, count] : ways)
    out += fmt::format("{}{} x {}", out.empty() ? "" : "; ", count, way);
  return out.empty() ? "none seen" : out;
}

// Connections of one rank, direction and HCA whose QPs went the same way.
struct Bundle {
  std::size_t count = 0;
  double slowest_qp_us = 0, slowest_us = 0;
  std::uint64_t bytes = 0, requests = 0, failed = 0;
};

TextTable::Row bundle_row(int rank, const std::string& dir, const std::string& hca,
                          const std::string& ways, const Bundle& bundle) {
  return {rank < 0 ? "-" : std::to_string(rank),
          dir,
          hca,
          std::to_string(bundle.count),
          ways,
          milliseconds(bundle.slowest_qp_us),
          milliseconds(bundle.slowest_us),
          std::to_string(bundle.bytes),
          std::to_string(bundle.requests),
          std::to_string(bundle.failed)};
}

std::string connection_table(const log::Job& job, const Screen& screen) {
  std::map<std::tuple<int, std::uint64_t, std::string, std::string, std::string>, Bundle> bundles;
  for (const auto* process : job.processes())
    for (const auto& [number, connection] : process->connections) {
      if (!connection.dir) continue;
      auto& bundle = bundles[{process->rank.value_or(-1), screen.verbose() ? number : 0,
                              log::name_of(*connection.dir), or_dash(connection.dev.name),
                              qp_ways(connection)}];
      ++bundle.count;
      bundle.slowest_qp_us = std::max(bundle.slowest_qp_us, qp_us(connection));
      bundle.slowest_us = std::max(bundle.slowest_us, connection.ready_us.value_or(0));
      bundle.bytes += connection.bytes.value_or(0);
      bundle.requests += connection.completed.value_or(0);
      bundle.failed += connection.failed.value_or(0);
    }
  TextTable table(
      {"rank", "dir", "HCA", "conns", "QPs", "QP ms", "ready ms", "bytes", "requests", "failed"});
  for (const auto& [key, bundle] : bundles) {
    const auto& [rank, number, dir, hca, ways] = key;
    table.add(bundle_row(rank, dir, hca, ways, bundle),
              bundle.failed != 0 ? Colour::kRed : Colour::kPlain);
  }
  return table.render(screen);
}

std::size_t connections_of(const log::Process& process) {
  return static_cast<std::size_t>(
      std::count_if(process.connections.begin(), process.connections.end(),
                    [](const auto& one) { return one.second.dir.has_value(); }));
}

}  // namespace

json to_json(const log::Job& job) {
  json out{{"processes", json::array()},
           {"hcas", json::array()},
           {"connections", json::array()},
           {"troubles", json::array()}};
  for (const auto* process : job.processes()) {
    if (process->loaded) out["processes"].push_back(process_json(*process));
    for (const auto& hca : process->hcas)
      out["hcas"].push_back({{"proc", process->proc},
                             {"dev", to_json(hca.dev)},
                             {"state", hca.state},
                             {"verdict", hca.verdict},
                             {"reasons", hca.reasons}});
    for (const auto& [number, connection] : process->connections)
      if (connection.dir)
        out["connections"].push_back(connection_json(*process, number, connection));
  }
  for (const auto& trouble : troubles_of(job)) out["troubles"].push_back(to_json(trouble));
  return out;
}

std::string what_was_used(const log::Job& job) {
  std::size_t connections = 0;
  std::set<std::string> hcas;
  for (const auto* process : job.processes()) {
    connections += connections_of(*process);
    for (const auto& [number, connection] : process->connections)
      if (connection.dir && !connection.dev.name.empty())
        hcas.insert(process->host + " " + connection.dev.name);
  }
  return fmt::format("{} ranks, {} connections over {} HCAs", job.processes().size(), connections,
                     hcas.size());
}

std::string demo_page(const log::Job& job, const Screen& screen) {
  const auto said = trouble_lines(troubles_of(job), screen);
  return process_lines(job, screen) + "\n" + screen.paint("HCAs", Colour::kBold) + "\n" +
         hca_table(job, screen) + "\n" + screen.paint("Connections", Colour::kBold) + "\n" +
         connection_table(job, screen) +
         fmt::format("\nWarnings and errors: {}\n{}", said.empty() ? "none" : "", said);
}

std::vector<std::string> demo_lines(const log::Job& job) {
  std::vector<std::string> out;
  for (const auto* process : job.processes()) {
    std::uint64_t bytes = 0, failed = 0;
    for (const auto& [number, connection] : process->connections) {
      bytes += connection.bytes.value_or(0);
      failed += connection.failed.value_or(0);
    }
    out.push_back(fmt::format("rank {} {}: {} connections, {} bytes, {} requests failed",
                              or_dash(process->rank), process->host, connections_of(*process),
                              bytes, failed));
  }
  return out;
}

}  // namespace nnd::cli
