#include "cli/top/words.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "cli/common/box_slots.h"
#include "cli/common/printable.h"
#include "cli/common/text_table.h"

namespace nnd::cli {

namespace box = nccl_net_diag::box;

namespace {

std::string counted(std::size_t count, const std::string& what) {
  const bool is_process = what.ends_with('s');
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : is_process ? "es" : "s");
}

std::string name_of(int pid, const std::optional<int>& rank) {
  return rank ? fmt::format("rank {} (pid {})", *rank, pid) : fmt::format("pid {}", pid);
}

// What a connection works for. Up to NCCL 2.27 connections don't say their communicator's hash; one
// whose rank the profiler has told is of a communicator that is known.
const ShownCommunicator* communicator_of(const ShownProcess& process, const box::ConnSlot& slot) {
  const auto& all = process.communicators;
  if (slot.comm == 0) return slot.rank >= 0 && all.size() == 1 ? &all.front() : nullptr;
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const auto& one) { return one.slot.hash == slot.comm; });
  return found == all.end() ? nullptr : &*found;
}

// A connection's ranks are its communicator's: where that counts otherwise than the job it is said.
std::string whose(const ShownProcess& process, const box::ConnSlot& slot) {
  if (slot.rank >= 0) return fmt::format("rank {}", slot.rank);
  return process.rank ? fmt::format("rank {}", *process.rank) : fmt::format("pid {}", process.pid);
}

std::string in_brackets(const ShownProcess& process, const ShownConnection& one) {
  std::vector<std::string> parts;
  if (one.being_made()) {
    parts.push_back(fmt::format("stage {}", box::kStageNames[one.slot.stage]));
    if (one.slot.moving_attempt > 1)
      parts.push_back(fmt::format("attempt {} to move a QP on", one.slot.moving_attempt));
  } else if (const auto* of = communicator_of(process, one.slot);
             of && of->unfinished() && of->alone) {
    parts.push_back(printable(task_of(of->task)));
  }
  if (one.slot.rank >= 0 && process.rank && one.slot.rank != *process.rank)
    parts.push_back(fmt::format("ranks of communicator {:#x}, rank {} of the job", one.slot.comm,
                                *process.rank));
  parts.push_back(fmt::format("pid {}", process.pid));
  return fmt::format("{}", fmt::join(parts, ", "));
}

// A collective that has begun and does not move, of a process in which no request ends either: a
// sender waits for its peer's receive without a request in flight.
struct Stuck {
  const ShownProcess* process = nullptr;
  const ShownCommunicator* communicator = nullptr;
};

bool moved_lately(const ShownProcess& process) {
  return std::any_of(process.connections.begin(), process.connections.end(),
                     [&](const ShownConnection& one) {
                       const auto done = log::seconds_ago(process.header, one.slot.last_done_raw);
                       return done && *done < kStallSec;
                     });
}

std::vector<Stuck> stuck_collectives(const View& view) {
  std::vector<Stuck> out;
  for (const auto& process : view.processes) {
    if (moved_lately(process)) continue;
    for (const auto& one : process.communicators)
      if (one.unfinished() && one.moved_sec.value_or(0) >= kStallSec)
        out.push_back({&process, &one});
  }
  std::stable_sort(out.begin(), out.end(), [](const Stuck& a, const Stuck& b) {
    return *a.communicator->moved_sec > *b.communicator->moved_sec;
  });
  return out;
}

std::string in_words(const Stuck& stuck) {
  const auto& task = stuck.communicator->task;
  return fmt::format("{} of {} has not moved for {:.1f} s ({} of {} operations done)",
                     printable(task_of(task)), name_of(stuck.process->pid, stuck.process->rank),
                     *stuck.communicator->moved_sec, task.ops_done, task.ops);
}

// How many there are of a kind, of which one was told.
std::string and_more(std::size_t count) {
  return count == 1 ? "" : fmt::format(", and {} more as well", count - 1);
}

std::string totals(const View& view) {
  std::size_t connections = 0;
  Rate rate;
  for (const auto& process : view.processes) {
    connections += process.connections.size();
    rate.add(process.rate);
  }
  std::string out =
      counted(view.processes.size(), "process") + ", " + counted(connections, "connection");
  if (rate.out || rate.in)
    out += fmt::format(": {} Gbit/s out, {} Gbit/s in", rate_text(rate.out.value_or(0)),
                       rate_text(rate.in.value_or(0)));
  return out;
}

// What failed, or is not as it should be; nothing where all is well.
std::vector<std::string> troubles(const View& view) {
  std::vector<std::string> out;
  std::vector<OneOf> failed;
  std::vector<const ShownProcess*> silent;
  for (const auto& process : view.processes) {
    for (const auto& one : process.connections)
      if (one.failed()) failed.push_back({&process, &one});
    if (process.silent_sec) silent.push_back(&process);
  }
  if (!failed.empty()) out.push_back(in_words(failed.front()) + and_more(failed.size()));
  if (!silent.empty())
    out.push_back(fmt::format("{} has shown no sign of life for {:.1f} s{}",
                              name_of(silent[0]->pid, silent[0]->rank), *silent[0]->silent_sec,
                              and_more(silent.size())));
  if (!view.ended.empty())
    out.push_back(fmt::format("{} has ended{}", name_of(view.ended[0].pid, view.ended[0].rank),
                              and_more(view.ended.size())));
  return out;
}

std::string what_waits(const View& view) {
  if (const auto waits = long_waits(view); !waits.empty())
    return in_words(waits.front()) + and_more(waits.size());
  if (const auto stuck = stuck_collectives(view); !stuck.empty())
    return in_words(stuck.front()) + and_more(stuck.size());
  return fmt::format("nothing has waited for {:g} s", kStallSec);
}

}  // namespace

std::vector<OneOf> long_waits(const View& view) {
  std::vector<OneOf> out;
  for (const auto& process : view.processes)
    for (const auto& one : process.connections)
      if (one.waits_long()) out.push_back({&process, &one});
  std::stable_sort(out.begin(), out.end(), [](const OneOf& a, const OneOf& b) {
    return *a.connection->wait_sec > *b.connection->wait_sec;
  });
  return out;
}

std::string in_words(const OneOf& one_of) {
  const auto& one = *one_of.connection;
  const std::string over =
      one.slot.device[0] == '\0' ? "" : " over " + printable(device_of(one.slot));
  const bool transfers = !one.failed() && !one.being_made();
  const std::string what = !transfers ? "connection" : one.sends() ? "send" : "receive";
  const std::string peer = peer_of(one.slot);
  const std::string how =
      one.failed() ? "has failed"
                   : fmt::format("{} {} s", transfers ? "has waited for" : "is not ready after",
                                 age_text(one.wait_sec));
  return fmt::format("{}'s {}{}{} {} ({})", whose(*one_of.process, one.slot), what,
                     peer == "-" ? "" : (one.sends() ? " to " : " from ") + peer, over, how,
                     in_brackets(*one_of.process, one));
}

std::string top_verdict(const View& view) {
  std::string out = view.processes.empty() ? "No process is left" : totals(view);
  for (const auto& trouble : troubles(view)) out += "; " + trouble;
  return out + (view.processes.empty() ? "" : "; " + what_waits(view)) + ".";
}

std::vector<std::string> top_brief(const View& view) {
  std::vector<std::string> out;
  for (const auto& process : view.processes) {
    std::optional<double> longest;
    for (const auto& rail : process.rails)
      if (rail.wait_sec) longest = std::max(longest.value_or(0), *rail.wait_sec);
    out.push_back(fmt::format(
        "{}{} pid {}: {}, {} Gbit/s out, {} in, {} in flight, longest wait {} s{}", process.host,
        process.rank ? fmt::format(" rank {}", *process.rank) : "", process.pid,
        counted(process.connections.size(), "connection"), rate_text(process.rate.out),
        rate_text(process.rate.in), counted(process.in_flight, "request"), age_text(longest),
        process.silent_sec ? fmt::format(", no sign of life for {:.1f} s", *process.silent_sec)
                           : ""));
  }
  return out;
}

std::string rate_text(const std::optional<double>& gbit) {
  if (!gbit) return "-";
  const bool small = *gbit > 0 && *gbit < 1;  // still told from nothing
  return fmt::format("{:.{}f}", *gbit, small ? 3 : 1);
}

std::string age_text(const std::optional<double>& seconds) {
  return seconds ? fmt::format("{:.1f}", *seconds) : "-";
}

std::string peer_of(const box::ConnSlot& slot) {
  if (slot.peer_rank >= 0) return fmt::format("rank {}", slot.peer_rank);
  char text[INET6_ADDRSTRLEN];
  const bool known = std::any_of(std::begin(slot.peer_gid), std::end(slot.peer_gid),
                                 [](std::uint8_t byte) { return byte != 0; });
  return known && inet_ntop(AF_INET6, slot.peer_gid, text, sizeof(text)) != nullptr ? text : "-";
}

}  // namespace nnd::cli
