#include "cli/rehearse/task_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "cli/common/event_json.h"
#include "cli/common/job_failures.h"
#include "cli/common/nccl_lines.h"

namespace nnd::cli {

using nlohmann::json;

namespace {

using HostOf = std::function<std::string(int)>;

// Each collective and size is run twice, the first time to warm up.
std::vector<CollectiveRun> collectives_of(const softcuda::RankResult& rank) {
  std::vector<CollectiveRun> out;
  bool warm = false;
  for (const auto& event : rank.events) {
    if (event.at("event") != "collective") continue;
    if (warm)
      out.push_back(
          {event.at("collective"), event.at("bytes"), event.at("iterations"), event.at("ms")});
    warm = !warm;
  }
  return out;
}

int nccl_version_of(const softcuda::RankResult& rank) {
  for (const auto& event : rank.events)
    if (event.at("event") == "loaded") return event.at("nccl");
  return 0;
}

bool was_refused(const softcuda::RankResult& rank) {
  return std::any_of(rank.events.begin(), rank.events.end(),
                     [](const json& event) { return event.value("refused", false); });
}

const log::Process* process_of(const log::Job& job, int rank) {
  for (const auto* process : job.processes())
    if (process->rank == rank) return process;
  return nullptr;
}

std::vector<ChannelUse> channels_of(const NcclLines& lines, int rank, const log::Process* process) {
  std::vector<ChannelUse> out;
  for (const auto& channel : lines.channels) {
    if ((channel.sends ? channel.from : channel.to) != rank) continue;
    std::string hca = fmt::format("net {}", channel.device);
    if (process != nullptr)
      if (const auto dev = process->net_devices.find(channel.device);
          dev != process->net_devices.end())
        hca = dev->second.port_name();
    out.push_back({channel.channel, channel.sends ? channel.to : channel.from,
                   channel.sends ? log::Direction::kSend : log::Direction::kRecv, std::move(hca)});
  }
  return out;
}

RankReport rank_report(const softcuda::RankResult& rank, const std::string& host,
                       const log::Job& job) {
  const auto lines = read_nccl_lines(rank.output);
  const int nccl = nccl_version_of(rank);
  return {rank.rank,
          host,
          rank.done,
          nccl != 0 && !was_refused(rank),
          nccl,
          lines.network,
          lines.warnings,
          collectives_of(rank),
          channels_of(lines, rank.rank, process_of(job, rank.rank))};
}

ConnectionReport connection_report(const log::Process& process, const std::string& host,
                                   const log::Connection& connection) {
  return {process.rank,
          host,
          connection.dev.name.empty() ? "?" : connection.dev.port_name(),
          *connection.dir,
          connection.link,
          connection.channel,
          connection.ready_us,
          connection.bytes,
          connection.failed};
}

}  // namespace

TaskReport make_task_report(const softcuda::JobResult& result, double deadline_sec,
                            const HostOf& host_of, const log::Job& job,
                            const std::string& left_out) {
  TaskReport out;
  out.failures = failures_of(result, deadline_sec);
  for (const auto& rank : result.ranks)
    out.ranks.push_back(rank_report(rank, host_of(rank.rank), job));
  std::set<std::pair<std::string, std::string>> seen;
  for (const auto* process : job.processes()) {
    const auto host = process->rank ? host_of(*process->rank) : process->host;
    for (const auto& hca : process->hcas)
      if (seen.insert({host, hca.dev.port_name()}).second)
        out.hcas.push_back({host, hca.verdict, hca.dev, hca.reasons});
    for (const auto& [number, connection] : process->connections)
      if (connection.dir) out.connections.push_back(connection_report(*process, host, connection));
  }
  out.troubles = troubles_of(job);
  for (auto& trouble : out.troubles)
    if (trouble.rank) trouble.host = host_of(*trouble.rank);
  if (out.troubles.size() > kMostTroubles) {
    out.notes.push_back(
        fmt::format("{} more warnings and refusals", out.troubles.size() - kMostTroubles));
    out.troubles.resize(kMostTroubles);
  }
  if (!left_out.empty()) out.notes.push_back("lines of the event logs left out: " + left_out);
  return out;
}

json to_json(const RankReport& rank) {
  json collectives = json::array(), channels = json::array();
  for (const auto& run : rank.collectives)
    collectives.push_back({{"collective", run.collective},
                           {"bytes", run.bytes},
                           {"iterations", run.iterations},
                           {"ms", run.ms}});
  for (const auto& use : rank.channels)
    channels.push_back({{"channel", use.channel},
                        {"dir", log::name_of(use.dir)},
                        {"peer_rank", use.peer_rank},
                        {"hca", use.hca}});
  return {{"rank", rank.rank},
          {"host", rank.host},
          {"done", rank.done},
          {"played", rank.played},
          {"nccl", rank.nccl},
          {"network", rank.network},
          {"nccl_warnings", rank.nccl_warnings},
          {"collectives", std::move(collectives)},
          {"channels", std::move(channels)}};
}

json to_json(const ConnectionReport& connection) {
  json out{
      {"host", connection.host}, {"hca", connection.hca}, {"dir", log::name_of(connection.dir)}};
  if (connection.rank) out["rank"] = *connection.rank;
  if (!connection.link.proc.empty()) out["link"] = to_json(connection.link);
  if (connection.channel) out["channel"] = *connection.channel;
  if (connection.ready_us) out["ready_us"] = *connection.ready_us;
  if (connection.bytes) out["bytes"] = *connection.bytes;
  if (connection.failed) out["failed"] = *connection.failed;
  return out;
}

json to_json(const HcaReport& hca) {
  return {{"host", hca.host},
          {"dev", to_json(hca.dev)},
          {"verdict", hca.verdict},
          {"reasons", hca.reasons}};
}

json to_json(const TaskReport& part) {
  json out{{"ranks", json::array()},    {"connections", json::array()}, {"hcas", json::array()},
           {"troubles", json::array()}, {"failures", part.failures},    {"notes", part.notes}};
  for (const auto& rank : part.ranks) out["ranks"].push_back(to_json(rank));
  for (const auto& connection : part.connections) out["connections"].push_back(to_json(connection));
  for (const auto& hca : part.hcas) out["hcas"].push_back(to_json(hca));
  for (const auto& trouble : part.troubles) out["troubles"].push_back(to_json(trouble));
  return out;
}

TaskReport task_report_from(const Fields& fields) {
  constexpr int kMostRanks = 1 << 20;
  TaskReport out;
  for (const auto& rank : fields.objects("ranks")) {
    auto& own = out.ranks.emplace_back();
    own.rank = rank.number<int>("rank", 0, kMostRanks);
    own.host = rank.text("host");
    own.done = rank.flag("done");
    own.played = rank.flag("played");
    own.nccl = rank.number<int>("nccl");
    own.network = rank.text("network");
    own.nccl_warnings = rank.texts("nccl_warnings");
    for (const auto& run : rank.objects("collectives"))
      own.collectives.push_back({run.text("collective"), run.number<std::uint64_t>("bytes"),
                                 run.number<int>("iterations"), run.real("ms")});
    for (const auto& use : rank.objects("channels"))
      own.channels.push_back({use.number<int>("channel"),
                              use.number<int>("peer_rank", 0, kMostRanks), direction_from(use),
                              use.text("hca")});
  }
  for (const auto& connection : fields.objects("connections")) {
    auto& own = out.connections.emplace_back();
    own.rank = connection.number_if<int>("rank");
    own.host = connection.text("host");
    own.hca = connection.text("hca");
    own.dir = direction_from(connection);
    if (const auto link = connection.object_if("link")) own.link = link_from(*link);
    own.channel = connection.number_if<int>("channel");
    own.ready_us = connection.real_if("ready_us");
    own.bytes = connection.number_if<std::uint64_t>("bytes");
    own.failed = connection.number_if<std::uint64_t>("failed");
  }
  for (const auto& hca : fields.objects("hcas"))
    out.hcas.push_back(
        {hca.text("host"), hca.text("verdict"), dev_from(hca.object("dev")), hca.texts("reasons")});
  for (const auto& trouble : fields.objects("troubles"))
    out.troubles.push_back(trouble_from(trouble));
  out.failures = fields.texts("failures");
  out.notes = fields.texts("notes");
  return out;
}

}  // namespace nnd::cli
