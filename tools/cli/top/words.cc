#include "cli/top/words.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <string_view>
#include <utility>

#include "cli/common/box_slots.h"
#include "cli/common/printable.h"
#include "cli/common/text_table.h"
#include "cli/report/names.h"

namespace nnd::cli {

namespace box = nccl_net_diag::box;

namespace {

std::string pid_of(const ShownProcess& process) {
  return fmt::format("pid {}{}", process.pid, process.user.empty() ? "" : " of " + process.user);
}

std::string name_of(const ShownProcess& process) {
  return process.rank ? fmt::format("rank {} ({})", *process.rank, pid_of(process))
                      : pid_of(process);
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
  return process.rank ? fmt::format("rank {}", *process.rank) : pid_of(process);
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
  parts.push_back(pid_of(process));
  return fmt::format("{}", fmt::join(parts, ", "));
}

// A collective that has begun and does not move.
struct Stuck {
  const ShownProcess* process = nullptr;
  const ShownCommunicator* communicator = nullptr;
};

std::vector<Stuck> stuck_collectives(const View& view) {
  std::vector<Stuck> out;
  for (const auto& process : view.processes) {
    for (const auto& one : process.communicators)
      if (one.stuck) out.push_back({&process, &one});
  }
  std::stable_sort(out.begin(), out.end(), [](const Stuck& a, const Stuck& b) {
    return *a.communicator->moved_sec > *b.communicator->moved_sec;
  });
  return out;
}

std::string in_words(const Stuck& stuck) {
  const auto& task = stuck.communicator->task;
  return fmt::format("{} of {} has not moved for {:.1f} s ({} of {} operations done)",
                     printable(task_of(task)), name_of(*stuck.process),
                     *stuck.communicator->moved_sec, task.ops_done, task.ops);
}

// Nothing in it means something to a shell: whoever may name it must not write root's command.
bool is_plain(const std::string& path) {
  return path.starts_with('/') && std::all_of(path.begin(), path.end(), [](char c) {
           constexpr std::string_view kMarks = "/._-+:@=,";
           return std::isalnum(static_cast<unsigned char>(c)) != 0 || kMarks.find(c) != kMarks.npos;
         });
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
  std::string out = count_of(view.processes.size(), "process", "processes") + ", " +
                    count_of(connections, "connection", "connections");
  if (rate.out || rate.in)
    out += fmt::format(": {} Gbit/s out, {} Gbit/s in", rate_text(rate.out.value_or(0)),
                       rate_text(rate.in.value_or(0)));
  return out;
}

// Those that matter: a job that has ended as a whole, by itself, is said but once.
std::vector<const Ended*> told_ended(const View& view) {
  std::vector<const Ended*> out;
  for (const auto& one : view.ended)
    if (one.just_now || one.missed || one.died) out.push_back(&one);
  std::stable_sort(out.begin(), out.end(), [](const Ended* a, const Ended* b) {
    return std::pair(a->died, a->missed) > std::pair(b->died, b->missed);
  });
  return out;
}

std::string in_words(const Ended& one) {
  const char* const how = one.died ? "died" : "ended";
  return one.just_now ? fmt::format("{} has {}", name_of(one.last), how)
                      : fmt::format("{} {} {:.0f} s ago", name_of(one.last), how, one.ago_sec);
}

// What failed, or is not as it should be; nothing where all is well.
std::vector<std::string> troubles(const View& view) {
  std::vector<std::string> out;
  std::vector<OwnedConnection> failed;
  std::vector<const ShownProcess*> silent;
  for (const auto& process : view.processes) {
    for (const auto& one : process.connections)
      if (one.failed()) failed.push_back({&process, &one});
    if (process.silent_sec) silent.push_back(&process);
  }
  if (!failed.empty()) out.push_back(in_words(failed.front()) + and_more(failed.size()));
  if (!silent.empty())
    out.push_back(fmt::format("{} has shown no sign of life for {:.1f} s{}", name_of(*silent[0]),
                              *silent[0]->silent_sec, and_more(silent.size())));
  if (const auto ended = told_ended(view); !ended.empty())
    out.push_back(in_words(*ended[0]) + and_more(ended.size()));
  return out;
}

// Who has heard of the others whom they all wait for, the longest wait first.
const ShownProcess* who_knows(const View& view) {
  const auto knows = [](const ShownProcess& process) { return process.header.awaited.kind != 0; };
  for (const OwnedConnection& one : long_waits(view))
    if (knows(*one.process)) return one.process;
  const auto found = std::find_if(view.processes.begin(), view.processes.end(), knows);
  return found == view.processes.end() ? nullptr : &*found;
}

std::string in_the_end(const View& view) {
  const ShownProcess* const knows = who_knows(view);
  return knows == nullptr
             ? ""
             : fmt::format("; {} waits {}", name_of(*knows), printable(knows->header.awaited.msg));
}

// Of those that have heard of one, who has compared most.
std::string who_is_late(const View& view) {
  const ShownProcess* best = nullptr;
  for (const ShownProcess& one : view.processes)
    if (one.header.latecomer.of > (best == nullptr ? 0 : best->header.latecomer.of)) best = &one;
  if (best == nullptr) return "";
  const box::LatecomerSlot& late = best->header.latecomer;
  std::string who = late.rank >= 0 ? fmt::format("rank {}", late.rank) : "a process";
  if (late.host[0] != '\0') who += " on " + printable(late.host);
  return fmt::format(
      "; {} comes last to collectives, in {} of the {} that were compared: the "
      "others waited {:.0f} ms for it",
      who, late.times, late.of, late.us / 1e3);
}

std::string what_waits(const View& view) {
  if (const auto waits = long_waits(view); !waits.empty())
    return in_words(waits.front()) + and_more(waits.size());
  if (const auto stuck = stuck_collectives(view); !stuck.empty())
    return in_words(stuck.front()) + and_more(stuck.size());
  return fmt::format("nothing has waited for {:g} s", kStallSec);
}

}  // namespace

std::vector<OwnedConnection> long_waits(const View& view) {
  std::vector<OwnedConnection> out;
  for (const auto& process : view.processes)
    for (const auto& one : process.connections)
      if (one.waits_long()) out.push_back({&process, &one});
  std::stable_sort(out.begin(), out.end(), [](const OwnedConnection& a, const OwnedConnection& b) {
    return *a.connection->wait_sec > *b.connection->wait_sec;
  });
  return out;
}

std::string in_words(const OwnedConnection& one_of) {
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

std::string what_it_did(const ShownProcess& process) {
  for (const auto& one : process.communicators)
    if (one.unfinished())
      return fmt::format("{}, {} of {} operations done", printable(task_of(one.task)),
                         one.task.ops_done, one.task.ops);
  const auto& all = process.communicators;
  return all.empty() || all[0].task.func[0] == '\0'
             ? "-"
             : printable(task_of(all[0].task)) + ", which was done";
}

namespace {

// Where there is a process to look at.
std::optional<LookAt> look_at(const box::AwaitedSlot& root) {
  const std::string_view kind = box::kAwaitedNames[root.kind];
  if (root.pid == 0 || (kind != "idle" && kind != "meets" && kind != "stopped"))
    return std::nullopt;
  std::string who = root.rank >= 0 ? fmt::format("rank {}", root.rank) : "a process";
  if (root.host[0] != '\0') who += " on " + printable(root.host);
  return LookAt{who, fmt::format("{}{}",
                                 kind == "stopped" ? "ps -o pid,stat,wchan:24,args -p "
                                                   : "py-spy dump --pid ",
                                 root.pid)};
}

}  // namespace

std::optional<LookAt> look_at(const View& view) {
  const auto found = [&](auto&& is) {
    return std::find_if(view.processes.begin(), view.processes.end(), is);
  };
  const auto made = [](const ShownProcess& process, std::string command) {
    return LookAt{process.rank ? fmt::format("rank {}", *process.rank) : pid_of(process),
                  std::move(command)};
  };
  if (const auto silent = found([](const auto& one) { return one.silent_sec.has_value(); });
      silent != view.processes.end())
    return made(*silent, fmt::format("ps -o pid,stat,wchan:24,args -p {}", silent->pid));
  if (const auto ended = told_ended(view);
      !ended.empty() && ended[0]->died && is_plain(ended[0]->box))
    return made(ended[0]->last, "nccl-net-diag decode " + ended[0]->box);
  if (const auto failing =
          found([](const auto& one) { return one.state() == ShownProcess::State::kFailing; });
      failing != view.processes.end())
    return made(*failing, fmt::format("nccl-net-diag decode --live {}", failing->pid));
  if (const ShownProcess* const knows = who_knows(view); knows != nullptr)
    if (const auto look = look_at(knows->header.awaited)) return look;
  if (const auto waits = long_waits(view); !waits.empty())
    return made(*waits[0].process, fmt::format("py-spy dump --pid {}", waits[0].process->pid));
  if (const auto stuck = stuck_collectives(view); !stuck.empty())
    return made(*stuck[0].process, fmt::format("py-spy dump --pid {}", stuck[0].process->pid));
  return std::nullopt;
}

std::string top_verdict(const View& view) {
  std::string out = view.processes.empty() ? "No process is left" : totals(view);
  for (const auto& trouble : troubles(view)) out += "; " + trouble;
  return out +
         (view.processes.empty() ? ""
                                 : "; " + what_waits(view) + in_the_end(view) + who_is_late(view)) +
         ".";
}

std::vector<std::string> top_brief(const View& view) {
  std::vector<std::string> out;
  for (const auto& process : view.processes) {
    std::optional<double> longest;
    for (const auto& rail : process.rails)
      if (rail.wait_sec) longest = std::max(longest.value_or(0), *rail.wait_sec);
    out.push_back(fmt::format(
        "{}{} {}: {}, {} Gbit/s out, {} in, {} in flight, longest wait {} s{}", process.host,
        process.rank ? fmt::format(" rank {}", *process.rank) : "", pid_of(process),
        count_of(process.connections.size(), "connection", "connections"),
        rate_text(process.rate.out), rate_text(process.rate.in),
        count_of(process.in_flight, "request", "requests"), age_text(longest),
        process.silent_sec ? fmt::format(", no sign of life for {:.1f} s", *process.silent_sec)
                           : ""));
  }
  for (const auto& one : view.ended)
    out.push_back(
        fmt::format("{} {}: last in {}", one.last.host, in_words(one), what_it_did(one.last)));
  return out;
}

std::string part_text(const std::optional<double>& part) {
  if (!part) return "-";
  const bool small = *part > 0 && *part < 0.01;  // still told from nothing
  return fmt::format("{:.{}f}%", 100 * *part, small ? 2 : 0);
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
