#include "cli/report/named_text.h"

#include <fmt/format.h>

#include "cli/common/time_text.h"
#include "cli/report/names.h"

namespace nnd::cli {

namespace {

std::string task_name(const log::Task& task) {
  if (task.kind.empty()) return "";
  return task.seq ? fmt::format("{} #{}", task.kind, *task.seq) : task.kind;
}

std::string last_given(const log::Awaited& awaited) {
  const std::string task = task_name(awaited.task);
  return task.empty() ? "" : ", and was given " + task + " last";
}

bool differ(const log::Task& a, const log::Task& b) {
  return !a.kind.empty() && !b.kind.empty() &&
         (a.kind != b.kind || (a.bytes != 0 && b.bytes != 0 && a.bytes != b.bytes));
}

std::string what_of(const log::Awaited& awaited, const std::string& cause) {
  const std::string who = process_text(awaited.rank, awaited.host, awaited.pid);
  const std::string other = process_text(awaited.other_rank, awaited.other_host, {});
  if (awaited.kind == "idle")
    return fmt::format("{} has asked the network for nothing{}", who, last_given(awaited));
  if (awaited.kind == "meets")
    return fmt::format("{} waits in NCCL's bootstrap for other ranks{}", who, last_given(awaited));
  if (awaited.kind == "cycle" && differ(awaited.task, awaited.other_task))
    return fmt::format("mismatched collectives: {} is in {}, and {} in {}", who,
                       task_name(awaited.task), other, task_name(awaited.other_task));
  if (awaited.kind == "cycle")
    return fmt::format("ranks wait for each other in a ring: {} in {}, and {}", who,
                       task_name(awaited.task).empty() ? "a collective" : task_name(awaited.task),
                       other);
  if (awaited.kind == "stopped")
    return fmt::format(
        "{} does not answer, while the kernel of its host does: stopped, or stuck in "
        "the kernel",
        who);
  if (awaited.kind == "gone") return fmt::format("{} does not answer, and nor does its host", who);
  if (awaited.kind == "ended") return fmt::format("{} has ended", who);
  if (awaited.kind == "port")
    return fmt::format("{} of {}: {}", awaited.place, who, cause_text(cause));
  if (awaited.kind == "pair")
    return fmt::format("between {} and {}: what one sends does not reach the other", who, other);
  return fmt::format("{}: {}{}{}", who, cause_text(cause),
                     awaited.place.empty() ? "" : " at " + awaited.place,
                     awaited.other_proc.empty() ? "" : ", on a connection with " + other);
}

}  // namespace

std::string process_text(std::optional<int> rank, const std::string& host,
                         std::optional<std::int64_t> pid) {
  std::string out = rank ? fmt::format("rank {}", *rank) : "a process";
  if (host.empty()) return out;
  return out + (pid ? fmt::format(" ({}, pid {})", host, *pid) : fmt::format(" ({})", host));
}

std::string named_text(const report::Report& report) {
  const report::ToldRoot& named = *report.named;
  const bool innocent = report.blame == report::Blame::kNotNetwork;
  const std::string why =
      named.differs == nullptr
          ? ""
          : fmt::format(" {}: {}", cause_text(named.differs->cause), named.differs->msg);
  return fmt::format(
      "{}{}; others wait for it in the end, as the processes told each other; first "
      "told by {} at {}.{}",
      innocent ? "not the network: " : "", what_of(*named.awaited, named.told->cause),
      who(report.picture, {named.tellers.front()}), time_text(named.at), why);
}

}  // namespace nnd::cli
