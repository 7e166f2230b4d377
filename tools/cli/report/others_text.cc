#include "cli/report/others_text.h"

#include <fmt/format.h>

#include <csignal>
#include <cstring>
#include <vector>

#include "cli/common/number_list.h"
#include "cli/report/kernel_text.h"
#include "cli/report/names.h"
#include "cli/report/verdict.h"
#include "foreign/process_end.h"
#include "nccl_net_diag/causes.h"

namespace nnd::cli {

using foreign::Fact;
using report::Flight;
using report::ForeignFindings;

namespace {

std::string at_place(const foreign::FlightCall& call) {
  return call.place.empty() ? "" : " at " + call.place;
}

const char* have(const std::vector<int>& ranks) { return ranks.size() == 1 ? "has" : "have"; }

// " crashed (SIGSEGV)", " ended with exit code 1"
std::string way_text(const Fact& ended) {
  if (*ended.status >= 0) return fmt::format(" ended with exit code {}", *ended.status);
  const int signal = -*ended.status;
  const char* const name = ::sigabbrev_np(signal);
  return fmt::format(" {}{} (SIG{})", signal == SIGKILL ? "was killed" : "crashed",
                     ended.detail.empty() ? "" : " " + ended.detail, name == nullptr ? "?" : name);
}

// "a data loader's worker of rank 3 (pid 12) was killed (SIGKILL)", and what its kernel says of it.
std::string loader_text(const ForeignFindings& others) {
  const Fact& ended = *others.ended;
  auto out =
      fmt::format("a data loader's worker{}{}{}",
                  ended.writer.rank ? fmt::format(" of rank {}", *ended.writer.rank) : "",
                  ended.pid == 0 ? "" : fmt::format(" (pid {})", ended.pid), way_text(ended));
  for (const auto* told : others.kernel)
    if (told->what == foreign::What::kKilled && told->pid == ended.pid)
      return out + "; it " + kernel_end_text(*told);
  return out;
}

}  // namespace

std::string call_text(const foreign::FlightCall& call) {
  return fmt::format("{}{}{}", call.what.empty() ? "collective" : call.what,
                     call.seq == 0 ? "" : fmt::format(" #{}", call.seq),
                     call.sizes.empty() ? "" : " (" + call.sizes + ")");
}

std::string id_of_cause(const Fact& fact) {
  return fact.cause ? std::string(nccl_net_diag::cause_id(*fact.cause)) : std::string();
}

std::string writer_text(const foreign::Writer& writer) {
  std::string out;
  if (!writer.host.empty())
    out = writer.host + (writer.pid == 0 ? "" : fmt::format(" pid {}", writer.pid));
  if (writer.rank)
    out = fmt::format("rank {}{}", *writer.rank, out.empty() ? "" : " (" + out + ")");
  return out.empty() ? "a process that its line doesn't name" : out;
}

std::string device_text(const Fact& fact) {
  std::string dev = fact.dev.empty() ? fact.pci : fact.dev;
  if (!fact.netdev.empty()) dev += dev.empty() ? fact.netdev : " (" + fact.netdev + ")";
  if (dev.empty()) return {};
  return fact.writer.host.empty() ? dev : fmt::format("{} of {}", dev, fact.writer.host);
}

// "to 10.0.0.2", "fe80::1 to ::ffff:10.0.0.2"
std::string ends_text(const Fact& fact) {
  const auto& there = fact.remote.empty() ? fact.peer : fact.remote;
  if (there.empty()) return {};
  return fact.local.empty() ? fmt::format(", towards {}", there)
                            : fmt::format(", from {} to {}", fact.local, there);
}

std::string what_text(const Fact& fact) {
  const auto id = id_of_cause(fact);
  auto detail = shortened(fact.detail);
  if (detail.ends_with('.')) detail.pop_back();
  if (!id.empty()) return cause_text(id) + (detail.empty() ? "" : ": " + detail);
  if (!detail.empty()) return detail;
  return fact.source == foreign::Source::kWatchdog ? "a collective timed out"
                                                   : "a connection was closed by its peer";
}

const char* source_of(const report::Flight& flight) {
  return flight.by_watchdog ? "PyTorch's watchdog" : "Flight Recorder";
}

// What a job of PyTorch's waits for.
std::string flight_text(const report::Flight& flight) {
  const auto guilty = rank_list({flight.guilty.begin(), flight.guilty.end()});
  const auto waiting = rank_list({flight.waiting.begin(), flight.waiting.end()});
  const char* const waits = flight.waiting.size() == 1 ? "waits" : "wait";
  switch (flight.kind) {
    case Flight::Kind::kBehind:
      return fmt::format(
          "{} {} not called {} of {}, in which {} {}{}; {}", guilty, have(flight.guilty),
          call_text(flight.call), flight.group, waiting, waits, at_place(flight.call),
          flight.other ? fmt::format("the last call there was {}{}", call_text(*flight.other),
                                     at_place(*flight.other))
                       : "it has called nothing there");
    case Flight::Kind::kMismatched:
      return fmt::format("mismatched collectives in {}: {} called {}{}, and {} {}{}", flight.group,
                         guilty, call_text(*flight.other), at_place(*flight.other), waiting,
                         call_text(flight.call), at_place(flight.call));
    case Flight::Kind::kNoDump:
      return fmt::format(
          "{} {} in {} of {}{}; {} {}", waiting, waits, call_text(flight.call), flight.group,
          at_place(flight.call), guilty,
          !flight.by_watchdog ? "left no dump: died, or its dump is not here"
          : flight.guilty.size() == 1
              ? "told nothing of it: it has not come, it died, or its output is not here"
              : "told nothing of it: they have not come, they died, or their output is not here");
    case Flight::Kind::kAllIn:
      break;
  }
  const char* const called = flight.waiting.size() == 1 ? "has" : "have";
  const auto fewest =
      flight.other
          ? fmt::format("; {} {} called no more than {}{}, and the others went on", guilty,
                        have(flight.guilty), call_text(*flight.other), at_place(*flight.other))
          : std::string();
  return fmt::format("{} {} called {} of {}{}{}, and it does not end{}", waiting, called,
                     call_text(flight.call), flight.group, at_place(flight.call),
                     flight.waiting.size() == 1 ? "" : " alike", fewest);
}

std::string killed_text(const ForeignFindings& others) {
  const auto rank = others.killed_rank
                        ? fmt::format("rank {} ({})", *others.killed_rank, others.killed_host)
                        : "a process of " + others.killed_host;
  return fmt::format("{} {}", rank, kernel_end_text(*others.killed));
}

// A rank on its node is the job's where there is one node.
std::string raised_text(const ForeignFindings& others) {
  const auto& raised = *others.raised;
  const bool of_job = !raised.on_node || (raised.one_node && others.hosts.size() <= 1);
  return fmt::format(
      "{}: {}{}{}",
      raised.ranks.empty() ? "a rank" : (of_job ? "" : "local ") + rank_list(raised.ranks),
      shortened(raised.told->text), raised.told->place.empty() ? "" : ", at " + raised.told->place,
      raised.worker == nullptr ? "" : "; that worker " + kernel_end_text(*raised.worker));
}

// "rank 3 (node1 pid 912) crashed (SIGSEGV)", "rank 3 (node1 pid 912) ended with exit code 1"
std::string ended_text(const ForeignFindings& others) {
  const Fact& ended = *others.ended;
  if (ended.program == foreign::kLoaderWorker) return loader_text(others);
  const auto who =
      (ended.on_node && others.hosts.size() > 1 ? "local " : "") + writer_text(ended.writer);
  return who + way_text(ended);
}

// "Slurm cancelled the job at 2026-11-26T11:17:07: its time limit was over"
std::string cancelled_text(const ForeignFindings& others) {
  return fmt::format("Slurm cancelled the job at {}: {}", others.cancelled->place,
                     others.cancelled->detail);
}

std::string ended_remedy(const Fact& ended) {
  switch (-*ended.status) {
    case SIGKILL:
      return "Look in that node's kernel log (dmesg) for an OOM kill then, and at the memory limit "
             "of "
             "the job's cgroup or container; else somebody killed it.";
    case SIGBUS:
      return "df /dev/shm on that node: a bus error inside NCCL, or in a data loader's worker, is "
             "mostly a /dev/shm that is full, as in containers with 64 MB (docker run "
             "--shm-size=8g or --ipc=host).";
    default:
      return "Look at its backtrace or core dump: the library that it crashed in is to be asked "
             "next; what other ranks tell after it follows from it.";
  }
}

}  // namespace nnd::cli
