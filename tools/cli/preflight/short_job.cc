#include "cli/preflight/short_job.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/common/troubles.h"

namespace nnd::cli {

namespace {

using Tasks = std::vector<PlayedTask>;
using Hosts = std::vector<std::string>;

template <typename Is>
const PlayedTask* find_task(const Tasks& tasks, Is is) {
  const auto found = std::find_if(tasks.begin(), tasks.end(), is);
  return found == tasks.end() ? nullptr : &*found;
}

template <typename Is>
Hosts hosts_where(const Tasks& tasks, Is is) {
  Hosts out;
  for (const PlayedTask& task : tasks)
    if (is(task)) out.push_back(task.host);
  return out;
}

bool has_failed(const PlayedTask& task) { return task.part && !task.part->failures.empty(); }

bool was_not_played(const PlayedTask& task) {
  return has_failed(task) && std::any_of(task.part->ranks.begin(), task.part->ranks.end(),
                                         [](const RankReport& rank) { return !rank.played; });
}

bool went_over_tcp(const PlayedTask& task) {
  return task.part && std::any_of(task.part->ranks.begin(), task.part->ranks.end(),
                                  [](const RankReport& rank) { return rank.network == "Socket"; });
}

Finding not_rehearsed(const PlayedTask& task) {
  Finding out;
  out.text = fmt::format("No short job was run; {} says: {}.", task.host,
                         task.cannot.empty() ? task.part->failures.front() : task.cannot);
  if (task.cannot.empty())
    out.remedy =
        "It needs an official, unstripped libnccl of a release that softcuda knows; --nccl names "
        "one.";
  return out;
}

Finding failed(const ShortJob& job, const Trouble& trouble) {
  const auto& told = trouble.diagnosis;
  return {Weight::kMend,
          {trouble.host},
          told.dev.name,
          told.cause,
          fmt::format("A job of {} ranks {}; {} says: {}", job.tasks.size(),
                      job.late ? fmt::format("was not over after {:g} s", job.seconds) : "failed",
                      trouble.host, told.msg),
          told.fix};
}

Finding failed(const ShortJob& job, const PlayedTask& task) {
  Finding out;
  out.weight = Weight::kMend;
  out.hosts = hosts_where(job.tasks, has_failed);
  out.text = fmt::format("A job of {} ranks failed; {} says: {}.", job.tasks.size(), task.host,
                         task.part->failures.front());
  out.remedy =
      "Let nccl-net-diag rehearse --logs DIR run on these nodes, then nccl-net-diag report DIR.";
  return out;
}

Finding over_tcp(const ShortJob& job, Hosts hosts) {
  Finding out;
  out.weight = Weight::kMend;
  out.text = fmt::format("In a job of {} ranks NCCL went over TCP on {}.", job.tasks.size(),
                         fmt::join(hosts, ", "));
  out.hosts = std::move(hosts);
  out.remedy =
      "nccl-net-diag check says there which HCAs NCCL takes; NCCL_NET=Socket keeps it from all.";
  return out;
}

std::string was_late(const ShortJob& job) {
  const auto hosts = hosts_where(job.tasks, [](const PlayedTask& task) {
    return !task.part || std::any_of(task.part->ranks.begin(), task.part->ranks.end(),
                                     [](const RankReport& rank) { return !rank.done; });
  });
  return fmt::format("The job of {} ranks was not over after {:g} s on {}.", job.tasks.size(),
                     job.seconds, fmt::join(hosts, ", "));
}

std::optional<Trouble> why_it_failed(const Tasks& tasks) {
  std::vector<Trouble> all;
  for (const PlayedTask& task : tasks)
    if (task.part) all.insert(all.end(), task.part->troubles.begin(), task.part->troubles.end());
  const auto* const first = first_failure(all);
  for (const Trouble& trouble : all)
    if (&trouble.diagnosis == first) return trouble;
  return std::nullopt;
}

}  // namespace

std::vector<std::size_t> players_of(std::size_t hosts) {
  constexpr std::size_t kMost = 16;
  std::vector<std::size_t> out;
  const std::size_t count = std::min(hosts, kMost);
  for (std::size_t i = 0; i < count; ++i) out.push_back(i * hosts / count);
  return out;
}

ShortJobResult result_of(const ShortJob& job) {
  const Tasks& tasks = job.tasks;
  if (job.interrupted) return {{}, "interrupted."};
  if (const auto* task = find_task(
          tasks, [](const auto& one) { return !one.cannot.empty() || was_not_played(one); }))
    return {not_rehearsed(*task), ""};
  if (const auto* task = find_task(tasks, [](const auto& one) { return !one.gone.empty(); }))
    return {{}, fmt::format("{} left the short job: {}.", task->host, task->gone)};
  const auto* const bad = find_task(tasks, has_failed);
  if (bad != nullptr || job.late) {
    if (const auto trouble = why_it_failed(tasks)) return {failed(job, *trouble), ""};
    if (bad != nullptr) return {failed(job, *bad), ""};
    return {{}, was_late(job)};
  }
  if (auto hosts = hosts_where(tasks, went_over_tcp); !hosts.empty())
    return {over_tcp(job, std::move(hosts)), ""};
  return {};
}

}  // namespace nnd::cli
