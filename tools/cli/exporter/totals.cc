#include "cli/exporter/totals.h"

#include <algorithm>
#include <iterator>
#include <set>

namespace nnd::cli {

namespace {

void operator+=(Moved& sum, const Moved& other) {
  sum.bytes += other.bytes;
  sum.completed += other.completed;
  sum.failed += other.failed;
}

void operator+=(Latencies& sum, const Latencies& other) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += other[i];
}

std::pair<std::string, PortOf> job_of(const Direction& direction) {
  return {direction.who.job, direction.port};
}

}  // namespace

RankName name_of(std::string_view job, std::optional<int> rank) {
  constexpr std::size_t kLongestName = 64;
  return {std::string(job.substr(0, kLongestName)), rank ? std::to_string(*rank) : ""};
}
RankName name_of(const ShownProcess& process) { return name_of(process.job_id, process.rank); }

std::vector<PortOf> ports_of(const ShownProcess& process) {
  std::vector<PortOf> out;
  std::set<PortOf> known;
  for (const ShownConnection& one : process.connections) {
    const auto& slot = one.slot;
    PortOf port{slot.device, slot.port != 0 ? std::to_string(slot.port) : ""};
    if (known.size() < kMostPorts) known.insert(port);
    out.push_back(known.contains(port) ? std::move(port) : PortOf{"other", ""});
  }
  return out;
}

void Totals::retire(const Counted& one) {
  retired_[one.direction] += one.moved;
  if (one.direction.sends) retired_latencies_[job_of(one.direction)] += one.latencies;
}

// What a rank that ended has moved counts as long as its job goes on with another under its number.
void Totals::forget_jobs_that_ended(const std::vector<ShownProcess>& processes) {
  std::set<RankName> ranks;
  std::set<std::string> jobs;
  for (const auto& process : processes) {
    ranks.insert(name_of(process));
    jobs.insert(name_of(process).job);
  }
  std::erase_if(retired_, [&](const auto& one) { return !ranks.contains(one.first.who); });
  std::erase_if(retired_latencies_,
                [&](const auto& one) { return !jobs.contains(one.first.first); });
}

void Totals::add(const std::vector<ShownProcess>& processes) {
  auto before = std::exchange(living_, {});
  for (const auto& process : processes) {
    const std::pair key(process.pid, process.header.proc_id);
    Connections& now = living_[key];
    const RankName who = name_of(process);
    const auto ports = ports_of(process);
    for (std::size_t i = 0; i < ports.size(); ++i) {
      const auto& slot = process.connections[i].slot;
      Counted one{{who, ports[i], process.connections[i].sends()},
                  {slot.bytes, slot.completed, slot.failed}};
      std::copy(std::begin(slot.latency), std::end(slot.latency), one.latencies.begin());
      now.emplace(slot.conn, std::move(one));
    }
    for (auto& [conn, one] : before[key]) {
      if (now.contains(conn)) continue;
      if (std::exchange(one.missed, true))
        retire(one);
      else
        now.emplace(conn, std::move(one));
    }
    before.erase(key);
  }
  for (const auto& [key, connections] : before)
    for (const auto& [conn, one] : connections) retire(one);
  forget_jobs_that_ended(processes);
  moved_ = retired_;
  latencies_ = retired_latencies_;
  for (const auto& [key, connections] : living_)
    for (const auto& [conn, one] : connections) {
      moved_[one.direction] += one.moved;
      if (one.direction.sends) latencies_[job_of(one.direction)] += one.latencies;
    }
}

}  // namespace nnd::cli
