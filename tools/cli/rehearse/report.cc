#include "cli/rehearse/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "cli/common/event_json.h"
#include "cli/common/number_list.h"
#include "cli/common/text_table.h"
#include "cli/rehearse/allowed.h"

namespace nnd::cli {

using nlohmann::json;

namespace {

// The other end of a connection of that place in the list; null where it is not known.
using Ends = std::map<const ConnectionReport*, const ConnectionReport*>;

Ends join_ends(const std::vector<ConnectionReport>& connections) {
  std::map<std::pair<log::Link, log::Direction>, const ConnectionReport*> by_link;
  for (const auto& connection : connections)
    if (!connection.link.proc.empty()) by_link[{connection.link, connection.dir}] = &connection;
  Ends out;
  for (const auto& [key, connection] : by_link) {
    const auto other =
        by_link.find({key.first, key.second == log::Direction::kSend ? log::Direction::kRecv
                                                                     : log::Direction::kSend});
    if (other != by_link.end()) out[connection] = other->second;
  }
  return out;
}

// The slowest rank counts.
std::vector<CollectiveRun> slowest(const std::vector<RankReport>& ranks) {
  std::vector<CollectiveRun> out;
  for (const auto& rank : ranks)
    for (std::size_t i = 0; i < rank.collectives.size(); ++i) {
      if (i == out.size()) out.push_back(rank.collectives[i]);
      out[i].ms = std::max(out[i].ms, rank.collectives[i].ms);
    }
  return out;
}

std::vector<Path> paths_of(const TaskReport& all) {
  using Key = std::tuple<int, log::Direction, std::string, int>;
  std::map<Key, Path> found;
  std::map<int, std::string> hosts;
  const auto path = [&found](int rank, log::Direction dir, const std::string& hca,
                             int peer) -> Path& {
    return found[{rank, dir, hca, peer}];
  };
  for (const auto& rank : all.ranks) {
    hosts[rank.rank] = rank.host;
    for (const auto& use : rank.channels)
      path(rank.rank, use.dir, use.hca, use.peer_rank).channels.insert(use.channel);
  }
  const auto ends = join_ends(all.connections);
  for (const auto& connection : all.connections) {
    if (!connection.rank) continue;
    const auto end = ends.find(&connection);
    const auto* other = end != ends.end() ? end->second : nullptr;
    auto& own = path(*connection.rank, connection.dir, connection.hca,
                     other != nullptr ? other->rank.value_or(-1) : -1);
    ++own.connections;
    own.bytes += connection.bytes.value_or(0);
    own.failed += connection.failed.value_or(0);
    if (other != nullptr) own.peer_hca = other->hca;
  }
  std::vector<Path> out;
  for (auto& [key, own] : found) {
    std::tie(own.rank, own.dir, own.hca, own.peer_rank) = key;
    own.host = hosts[own.rank];
    if (own.peer_rank >= 0) own.peer_host = hosts[own.peer_rank];
    out.push_back(std::move(own));
  }
  return out;
}

template <typename T>
void append(std::vector<T>& all, std::vector<T>& more) {
  std::move(more.begin(), more.end(), std::back_inserter(all));
}

json path_json(const Path& path) {
  json out{{"rank", path.rank},   {"host", path.host},         {"dir", log::name_of(path.dir)},
           {"hca", path.hca},     {"channels", path.channels}, {"connections", path.connections},
           {"bytes", path.bytes}, {"failed", path.failed}};
  if (path.peer_rank >= 0) out["peer"] = {{"rank", path.peer_rank}, {"host", path.peer_host}};
  if (!path.peer_hca.empty()) out["peer"]["hca"] = path.peer_hca;
  return out;
}

std::string hca_table(const Rehearsal& rehearsal, const Screen& screen) {
  TextTable table({"host", "HCA", "port", "link", "Gbit/s", "GID", "verdict", "reasons"});
  for (const auto& hca : rehearsal.all.hcas)
    table.add({hca.host, or_dash(hca.dev.name), or_dash(hca.dev.port), or_dash(hca.dev.link_layer),
               fmt::format("{:g}", static_cast<double>(hca.dev.speed_mbps.value_or(0)) / 1000),
               or_dash(hca.dev.gid), hca.verdict,
               or_dash(fmt::format("{}", fmt::join(hca.reasons, ", ")))});
  return table.empty() ? ""
                       : screen.paint("HCAs", Colour::kBold) + "\n" + table.render(screen) + "\n";
}

std::string path_table(const Rehearsal& rehearsal, const Screen& screen) {
  TextTable table({"rank", "host", "dir", "HCA", "channels", "conns", "peer", "peer host",
                   "peer HCA", "bytes", "failed"});
  for (const auto& path : rehearsal.paths)
    table.add({std::to_string(path.rank), path.host, log::name_of(path.dir), path.hca,
               number_list(path.channels), std::to_string(path.connections),
               path.peer_rank >= 0 ? std::to_string(path.peer_rank) : "-", or_dash(path.peer_host),
               or_dash(path.peer_hca), std::to_string(path.bytes), std::to_string(path.failed)});
  return table.empty()
             ? ""
             : screen.paint("Channels", Colour::kBold) + "\n" + table.render(screen) + "\n";
}

std::string collective_table(const Rehearsal& rehearsal, const Screen& screen) {
  TextTable table({"collective", "bytes", "iterations", "ms", "GB/s (algorithm, host memory)",
                   "bus", "allowed"});
  const auto figure = [](const char* form, const std::optional<double>& value) {
    return value ? fmt::format(fmt::runtime(form), *value) : "-";
  };
  for (const auto& run : rehearsal.collectives)
    table.add({run.collective, std::to_string(run.bytes), std::to_string(run.iterations),
               fmt::format("{:.2f}", run.ms), fmt::format("{:.3f}", gb_per_s(run)),
               figure("{:.3f}", bus_gb_per_s(run, rehearsal.all.ranks.size())),
               figure("{:.3g}", rehearsal.allowed)});
  if (table.empty()) return "";
  auto out = screen.paint("Collectives", Colour::kBold) + "\n" + table.render(screen);
  if (rehearsal.allowed)
    out += screen.wrap(
               "  bus: what each link must carry; allowed: what the ports of the node that "
               "has least carry. The figures are those of host memory and the CPU.",
               2) +
           "\n";
  return out + "\n";
}

}  // namespace

double gb_per_s(const CollectiveRun& run) {
  return static_cast<double>(run.bytes) * run.iterations / 1e6 / std::max(run.ms, 1e-6);
}

std::optional<double> bus_gb_per_s(const CollectiveRun& run, std::size_t ranks) {
  if (ranks < 2) return std::nullopt;
  const auto factors = bus_factors_of(run.collective, static_cast<double>(ranks));
  return factors ? std::optional(gb_per_s(run) * factors->data * factors->bus) : std::nullopt;
}

Rehearsal merge_task_reports(std::vector<TaskReport> parts) {
  Rehearsal out;
  for (auto& part : parts) {
    append(out.all.ranks, part.ranks);
    append(out.all.connections, part.connections);
    append(out.all.hcas, part.hcas);
    append(out.all.troubles, part.troubles);
    append(out.all.failures, part.failures);
    append(out.all.notes, part.notes);
  }
  out.collectives = slowest(out.all.ranks);
  out.paths = paths_of(out.all);
  out.allowed = allowed_by_ports(out.paths, out.all.hcas);
  for (const auto& rank : out.all.ranks) {
    if (!rank.network.empty()) out.networks.insert(rank.network);
    out.nccl_warnings.insert(rank.nccl_warnings.begin(), rank.nccl_warnings.end());
  }
  return out;
}

json to_json(const Rehearsal& rehearsal) {
  json out = to_json(rehearsal.all);
  const auto ends = join_ends(rehearsal.all.connections);
  for (std::size_t i = 0; i < rehearsal.all.connections.size(); ++i)
    if (const auto end = ends.find(&rehearsal.all.connections[i]); end != ends.end()) {
      out["connections"][i]["peer"]["hca"] = end->second->hca;
      if (end->second->rank) out["connections"][i]["peer"]["rank"] = *end->second->rank;
    }
  out["collectives"] = json::array();
  for (const auto& run : rehearsal.collectives) {
    out["collectives"].push_back({{"collective", run.collective},
                                  {"bytes", run.bytes},
                                  {"iterations", run.iterations},
                                  {"ms", run.ms},
                                  {"algorithm_gb_per_s", gb_per_s(run)}});
    auto& last = out["collectives"].back();
    if (const auto bus = bus_gb_per_s(run, rehearsal.all.ranks.size())) last["bus_gb_per_s"] = *bus;
    if (rehearsal.allowed) last["allowed_gb_per_s"] = *rehearsal.allowed;
  }
  out["paths"] = json::array();
  for (const auto& path : rehearsal.paths) out["paths"].push_back(path_json(path));
  out["networks"] = rehearsal.networks;
  out["nccl_warnings"] = rehearsal.nccl_warnings;
  return out;
}

std::string rehearsal_page(const Rehearsal& rehearsal, const Screen& screen) {
  const auto said = trouble_lines(rehearsal.all.troubles, screen);
  std::string out = hca_table(rehearsal, screen) + path_table(rehearsal, screen) +
                    collective_table(rehearsal, screen);
  out += fmt::format("Warnings and refusals: {}\n{}", said.empty() ? "none" : "", said);
  for (const auto& warning : rehearsal.nccl_warnings)
    out += screen.wrap(fmt::format("  NCCL: {}", warning), 4) + "\n";
  for (const auto& note : rehearsal.all.notes)
    out += screen.wrap(fmt::format("  Note: {}", note), 4) + "\n";
  return out;
}

std::vector<std::string> rehearsal_lines(const Rehearsal& rehearsal) {
  std::vector<std::string> out;
  for (const auto& path : rehearsal.paths)
    out.push_back(fmt::format("rank {} {} {} {} peer {} {}: {} connections, {} bytes, {} failed",
                              path.rank, path.host, log::name_of(path.dir), path.hca,
                              path.peer_rank >= 0 ? std::to_string(path.peer_rank) : "-",
                              or_dash(path.peer_hca), path.connections, path.bytes, path.failed));
  return out;
}

}  // namespace nnd::cli
