#include "cli/exporter/metrics.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "cli/common/version.h"
#include "cli/exporter/exposition.h"

namespace nnd::cli {

namespace {

constexpr double kNsPerSec = 1e9;
// Powers of four from 1.024 us to 17 s.
constexpr std::size_t kFirstBound = 10, kLastBound = 34, kBoundStep = 2;

const char* const kStages[] = {"making", "ready", "failed"};
const char* const kWaits[] = {"connect", "data"};

Labels of_rank(const RankName& who) { return {{"hpc_job", who.job}, {"rank", who.rank}}; }

Labels of_port(Labels labels, const PortOf& port) {
  labels.emplace_back("device", port.device);
  labels.emplace_back("port", port.port);
  return labels;
}

Labels of_direction(const Direction& one) {
  Labels out = of_port(of_rank(one.who), one.port);
  out.emplace_back("direction", one.sends ? "transmit" : "receive");
  return out;
}

Labels with(Labels labels, const char* name, std::string value) {
  labels.emplace_back(name, std::move(value));
  return labels;
}

// Names are without the suffix that exposition.cc gives the samples of their type: a counter
// "nccl_net_diag_bytes" is documented, and shown, as nccl_net_diag_bytes_total.
Family gauge(const char* name, const char* help) { return {name, MetricType::kGauge, help}; }
Family counter(const char* name, const char* help) { return {name, MetricType::kCounter, help}; }

// Of all connections of a rank over a port in one direction.
struct Now {
  std::map<std::string, double> stages;
  std::map<std::string, double> waits;  // seconds, of what waits for long
  double in_flight = 0;
};

std::map<Direction, Now> now_of(const View& view) {
  std::map<Direction, Now> out;
  for (const ShownProcess& process : view.processes) {
    const RankName who = name_of(process);
    const auto ports = ports_of(process);
    for (std::size_t i = 0; i < ports.size(); ++i) {
      const ShownConnection& one = process.connections[i];
      Now& now = out[{who, ports[i], one.sends()}];
      now.in_flight += static_cast<double>(one.in_flight);
      ++now.stages[one.failed() ? "failed" : one.being_made() ? "making" : "ready"];
      double& waits = now.waits[one.being_made() ? "connect" : "data"];
      if (one.waits_long()) waits = std::max(waits, *one.wait_sec);
    }
  }
  return out;
}

void add_now(Families& out, const View& view) {
  Family in_flight = gauge("nccl_net_diag_requests_in_flight",
                           "Requests that NCCL has posted and that have not completed.");
  Family connections =
      gauge("nccl_net_diag_connections", "NCCL's connections, by how far they are.");
  Family stalls = gauge("nccl_net_diag_stall_seconds",
                        "For how long the connection that waits longest has waited: for data (from "
                        "10 s on) or to be made (from 5 s on). 0: none waits for so long.");
  for (const auto& [direction, now] : now_of(view)) {
    const Labels labels = of_direction(direction);
    in_flight.samples.push_back({labels, now.in_flight});
    for (const char* const stage : kStages) {
      const auto found = now.stages.find(stage);
      connections.samples.push_back(
          {with(labels, "stage", stage), found == now.stages.end() ? 0 : found->second});
    }
    for (const char* const kind : kWaits) {
      const auto found = now.waits.find(kind);
      stalls.samples.push_back(
          {with(labels, "kind", kind), found == now.waits.end() ? 0 : found->second});
    }
  }
  for (Family* const family : {&in_flight, &connections, &stalls})
    out.push_back(std::move(*family));
}

void add_moved(Families& out, const Totals& totals) {
  Family bytes = counter("nccl_net_diag_bytes", "Bytes of requests that completed.");
  Family requests = counter("nccl_net_diag_requests", "Requests that completed.");
  Family failed = counter("nccl_net_diag_failed_requests", "Requests that failed.");
  for (const auto& [direction, moved] : totals.moved()) {
    const Labels labels = of_direction(direction);
    bytes.samples.push_back({labels, static_cast<double>(moved.bytes)});
    requests.samples.push_back({labels, static_cast<double>(moved.completed)});
    failed.samples.push_back({labels, static_cast<double>(moved.failed)});
  }
  for (Family* const family : {&bytes, &requests, &failed}) out.push_back(std::move(*family));
}

void add_latencies(Families& out, const Totals& totals) {
  Family took{"nccl_net_diag_send_latency_seconds", MetricType::kHistogram,
              "How long sends took, from NCCL's request to its completion."};
  for (const auto& [key, buckets] : totals.latencies()) {
    const Labels labels = of_port({{"hpc_job", key.first}}, key.second);
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < buckets.size(); ++i) {
      below += buckets[i];
      const std::size_t bound = i + 1;  // of the bucket, as a power of two in ns
      if (bound < kFirstBound || bound > kLastBound || (bound - kFirstBound) % kBoundStep != 0)
        continue;
      took.samples.push_back(
          {with(labels, "le", number_text(std::ldexp(1.0, static_cast<int>(bound)) / kNsPerSec)),
           static_cast<double>(below)});
    }
    took.samples.push_back({with(labels, "le", "+Inf"), static_cast<double>(below)});
  }
  out.push_back(std::move(took));
}

void add_processes(Families& out, const View& view) {
  Family processes = gauge("nccl_net_diag_processes", "NCCL processes that have a black box.");
  Family alive =
      gauge("nccl_net_diag_last_sign_of_life_timestamp_seconds",
            "When the process last wrote its black box, which is due ten times a second.");
  Family unread = gauge("nccl_net_diag_unread_boxes", "Black boxes that could not be read.");
  std::map<std::string, double> by_job;
  std::map<RankName, double> last;
  for (const ShownProcess& process : view.processes) {
    const RankName who = name_of(process);
    ++by_job[who.job];
    const double at =
        static_cast<double>(view.real_ns) / kNsPerSec - process.silent_sec.value_or(0);
    const auto [known, is_new] = last.try_emplace(who, at);
    if (!is_new) known->second = std::min(known->second, at);
  }
  if (by_job.empty()) by_job[""] = 0;
  for (const auto& [job, count] : by_job) processes.samples.push_back({{{"hpc_job", job}}, count});
  for (const auto& [who, at] : last) alive.samples.push_back({of_rank(who), at});
  unread.samples.push_back({{}, static_cast<double>(view.unread.size())});
  for (Family* const family : {&processes, &alive, &unread}) out.push_back(std::move(*family));
}

}  // namespace

Families metrics_of(const View& view, const Totals& totals) {
  Families out;
  out.push_back({"nccl_net_diag", MetricType::kInfo, "The exporter.", {}});
  out.back().samples.push_back({{{"version", tool_version()}}, 1});
  add_processes(out, view);
  add_now(out, view);
  add_moved(out, totals);
  add_latencies(out, totals);
  return out;
}

std::vector<PortOf> ports_in_use(const View& view) {
  std::set<PortOf> out;
  for (const ShownProcess& process : view.processes)
    for (auto& port : ports_of(process)) out.insert(std::move(port));
  return {out.begin(), out.end()};
}

}  // namespace nnd::cli
