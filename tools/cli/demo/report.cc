#include "cli/demo/report.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <vector>

#include "cli/common/event_json.h"
#include "cli/common/text_table.h"

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

// "INIT", "RTR", "RTS" of each of its QPs, by number.
std::map<std::string, std::vector<std::string>> qp_states(const log::Connection& connection) {
  std::map<std::string, std::vector<std::string>> out;
  for (const auto& transition : connection.transitions) {
    auto state = transition.qp.to;
    if (transition.failed())
      state += transition.error ? fmt::format(" failed (errno {})", *transition.error) : " failed";
    out[std::to_string(transition.qp.num.value_or(0))].push_back(std::move(state));
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

json trouble_json(const log::Process& process, const log::Diagnosis& diagnosis) {
  json out = to_json(diagnosis);
  out["host"] = process.host;
  if (process.rank) out["rank"] = *process.rank;
  return out;
}

std::string milliseconds(const std::optional<double>& us) {
  return us ? fmt::format("{:.2f}", *us / 1000) : "-";
}

std::string process_lines(const log::Job& job) {
  std::string out;
  for (const auto* process : job.processes())
    if (process->loaded)
      out += fmt::format(
          "rank {} (pid {} on {}): NCCL {}, net v{}, wraps {} (found by {}), layers: {}\n",
          or_dash(process->rank), process->pid, process->host, or_dash(process->nccl_version),
          or_dash(process->net_api), process->wraps.name.empty() ? "nothing" : process->wraps.name,
          or_dash(process->wraps.method),
          or_dash(fmt::format("{}", fmt::join(process->layers, ", "))));
  return out;
}

std::string hca_table(const log::Job& job) {
  TextTable table({"rank", "HCA", "port", "netdev", "link", "Gbit/s", "GID", "subnet", "state",
                   "verdict", "reasons"});
  for (const auto* process : job.processes())
    for (const auto& hca : process->hcas)
      table.add({or_dash(process->rank), or_dash(hca.dev.name), or_dash(hca.dev.port),
                 or_dash(hca.dev.netdev), or_dash(hca.dev.link_layer),
                 fmt::format("{:g}", static_cast<double>(hca.dev.speed_mbps.value_or(0)) / 1000),
                 or_dash(hca.dev.gid), or_dash(hca.dev.subnet), or_dash(hca.state), hca.verdict,
                 or_dash(fmt::format("{}", fmt::join(hca.reasons, ", ")))});
  return table.render();
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

std::string connection_table(const log::Job& job) {
  TextTable table(
      {"rank", "conn", "dir", "HCA", "QPs", "QP ms", "ready ms", "bytes", "requests", "failed"});
  for (const auto* process : job.processes())
    for (const auto& [number, connection] : process->connections) {
      if (!connection.dir) continue;
      const auto& qps = connection.transitions;
      table.add({or_dash(process->rank), std::to_string(number), log::name_of(*connection.dir),
                 or_dash(connection.dev.name), qp_ways(connection),
                 milliseconds(qps.empty() ? std::nullopt : std::optional(qp_us(connection))),
                 milliseconds(connection.ready_us), or_dash(connection.bytes),
                 or_dash(connection.completed), or_dash(connection.failed)});
    }
  return table.render();
}

std::string troubles(const log::Job& job) {
  std::string out;
  for (const auto* process : job.processes())
    for (const auto& diagnosis : process->diagnoses)
      if (diagnosis.severity != log::Severity::kInfo)
        out += fmt::format("  rank {} {} {}: {} {}\n", or_dash(process->rank),
                           nccl_net_diag::severity_name(diagnosis.severity),
                           or_dash(diagnosis.cause), or_dash(diagnosis.msg), diagnosis.fix);
  return out;
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
    for (const auto& diagnosis : process->diagnoses)
      if (diagnosis.severity != log::Severity::kInfo)
        out["troubles"].push_back(trouble_json(*process, diagnosis));
  }
  return out;
}

std::string render(const log::Job& job) {
  const auto said = troubles(job);
  return process_lines(job) + "\nHCAs\n" + hca_table(job) + "\nConnections\n" +
         connection_table(job) +
         fmt::format("\nWarnings and errors: {}\n{}", said.empty() ? "none" : "", said);
}

}  // namespace nnd::cli
