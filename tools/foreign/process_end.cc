#include "foreign/process_end.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <string>
#include <utility>

#include "foreign/nccl_line.h"
#include "foreign/output_prefix.h"
#include "foreign/words.h"

namespace nnd::foreign {

namespace {

constexpr const char* kNoMemory = "for lack of memory";

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") + 1 - begin);
}

Fact ended() {
  Fact out;
  out.what = What::kEnded;
  out.source = Source::kOutput;
  return out;
}

// "failed (exitcode: -9) local_rank: 3 (pid: 1234) of binary: /usr/bin/python"
// torch/distributed/elastic/multiprocessing/api.py of PyTorch 2.7.1.
std::optional<Fact> of_torchelastic(std::string_view line) {
  const auto rest = behind(line, "failed (exitcode: ");
  if (!rest) return {};
  Fact out = ended();
  out.status = number_at_begin(*rest);
  out.writer.rank = number_behind(*rest, "local_rank: ");
  out.on_node = true;
  out.pid = number_behind(*rest, "(pid: ").value_or(0);
  return out.status && out.writer.rank ? std::optional(out) : std::nullopt;
}

// "[node1:912  :0:914] Caught signal 11 (Segmentation fault: ...)" of UCX (src/ucs/debug/debug.c),
// "[node1:912] Signal: Bus error (7)" of Open MPI (opal/util/stacktrace.c).
std::optional<Fact> of_handler(std::string_view line) {
  std::optional<int> signal = number_behind(line, "] Caught signal ");
  if (!signal && line.find("] Signal: ") != std::string_view::npos)
    if (const auto paren = line.rfind('('); paren != std::string_view::npos)
      signal = number_at_begin(line.substr(paren + 1));
  const auto open = line.find('[');
  if (!signal || open == std::string_view::npos) return {};
  const auto head = line.substr(open + 1, line.find(']', open) - open - 1);
  const auto colon = head.find(':');
  if (colon == std::string_view::npos) return {};
  Fact out = ended();
  out.status = -*signal;
  out.writer.host = head.substr(0, colon);
  out.writer.pid = out.pid = number_at_begin(head.substr(colon + 1)).value_or(0);
  return out;
}

struct Way {
  const char* words;
  int signal;
};
constexpr std::array<Way, 8> kWays{{{"Killed", SIGKILL},
                                    {"Out Of Memory", SIGKILL},
                                    {"Segmentation fault", SIGSEGV},
                                    {"Bus error", SIGBUS},
                                    {"Illegal instruction", SIGILL},
                                    {"Floating point exception", SIGFPE},
                                    {"Terminated", SIGTERM},
                                    {"Aborted", SIGABRT}}};

// "srun: error: node3: task 5: Killed" (src/srun/libsrun/launch.c of Slurm 22.05)
std::optional<Fact> of_srun(std::string_view line) {
  const auto rest = behind(line, "srun: error: ");
  const auto task = rest ? behind(*rest, ": task ") : std::nullopt;
  const auto rank = task ? number_at_begin(*task) : std::nullopt;
  const auto what = rank ? behind(*task, ": ") : std::nullopt;
  if (!what) return {};
  Fact out = ended();
  out.writer.host = rest->substr(0, rest->find(':'));
  out.writer.rank = rank;
  out.status = number_behind(*what, "Exited with exit code ");
  for (const auto& [words, signal] : kWays)
    if (what->starts_with(words)) out.status = -signal;
  if (what->starts_with("Out Of Memory")) out.detail = kNoMemory;
  return out.status ? std::optional(out) : std::nullopt;
}

// "DataLoader worker (pid 12) is killed by signal: Killed. " and "... exited unexpectedly with exit
// code 1. ..." of who started it, "ERROR: Unexpected bus error encountered in worker. ..." of the
// worker itself (torch/csrc/DataLoader.cpp of PyTorch 1.8 to 2.9). Where a traceback shows whose
// exception it became, that says more.
std::optional<Fact> of_loader(std::string_view line) {
  Fact out = ended();
  out.program = kLoaderWorker;
  out.writer.rank = marked_rank(line);
  if (const auto what = behind(line, "ERROR: Unexpected ");
      what && holds(*what, " encountered in worker.")) {
    if (what->starts_with("bus error")) out.status = -SIGBUS;
    if (what->starts_with("segmentation fault")) out.status = -SIGSEGV;
    if (what->starts_with("floating-point exception")) out.status = -SIGFPE;
    return out.status ? std::optional(out) : std::nullopt;
  }
  const auto worker = behind(line, "DataLoader worker (pid ");
  if (!worker) return {};
  out.pid = number_at_begin(*worker).value_or(0);
  out.status = number_behind(*worker, ") exited unexpectedly with exit code ");
  const auto signal = behind(*worker, ") is killed by signal: ");
  for (const auto& [words, number] : kWays)
    if (signal && signal->starts_with(words)) out.status = -number;
  return out.status ? std::optional(out) : std::nullopt;
}

// "slurmstepd: error: Detected 1 oom_kill event in StepId=7.0. Some of the step tasks have been OOM
// Killed."; before 23.02 "oom-kill event(s)" (src/plugins/task/cgroup/task_cgroup_memory.c)
std::optional<Fact> of_slurmstepd(std::string_view line) {
  const auto rest = behind(line, "Detected ");
  if (!rest || number_at_begin(*rest).value_or(0) <= 0) return {};
  if (!behind(*rest, " oom_kill event") && !behind(*rest, " oom-kill event")) return {};
  Fact out = ended();
  out.status = -SIGKILL;
  out.detail = kNoMemory;
  return out;
}

// "mpirun noticed that process rank 3 with PID 1234 on node n1 exited on signal 9 (Killed)."
// (orte/tools/orterun/help-orterun.txt of Open MPI 4.1)
std::optional<Fact> of_mpirun(std::string_view line) {
  const auto rest = behind(line, " noticed that process rank ");
  const auto signal = rest ? number_behind(*rest, "exited on signal ") : std::nullopt;
  if (!signal) return {};
  Fact out = ended();
  out.status = -*signal;
  out.writer.rank = number_at_begin(*rest);
  out.pid = number_behind(*rest, "with PID ").value_or(0);
  if (const auto node = behind(*rest, "on node "))
    out.writer.host = node->substr(0, node->find(' '));
  return out;
}

// "slurmstepd: error: *** JOB 4711 ON node1 CANCELLED AT 2026-11-26T11:17:07 DUE TO TIME LIMIT ***"
// src/slurmd/slurmstepd/req.c of Slurm 26.05; older ones say less of who cancelled it.
std::optional<Fact> of_slurm(std::string_view line) {
  constexpr std::array<std::pair<std::string_view, const char*>, 5> kWhy{
      {{"DUE TO TIME LIMIT", "its time limit was over"},
       {"DUE TO NODE FAILURE", kNodeFailed},
       {"DUE TO PREEMPTION", "another job took its place"},
       {"DUE TO JOB REQUEUE", "it was put into the queue again"},
       {"", "somebody cancelled it, or its launcher did"}}};
  const auto rest = behind(line, " CANCELLED AT ");
  if (!rest || !holds(line, "*** ") || !rest->ends_with("***") || holds(*rest, "TASK FAILURE"))
    return {};
  const auto why = std::find_if(kWhy.begin(), kWhy.end(),
                                [&](const auto& one) { return holds(*rest, one.first); });
  Fact out = ended();
  out.what = What::kCancelled;
  out.detail = why->first.empty() && holds(line, "*** STEP ") ? kStepCancelled : why->second;
  out.place = rest->substr(0, rest->find(' '));
  return out;
}

}  // namespace

void ProcessEnds::tell(Fact&& fact, std::string_view line, std::uint64_t number) {
  constexpr std::size_t kLongest = 512;
  fact.text = trimmed(line).substr(0, kLongest);
  fact.line = number;
  sink_(std::move(fact));
}

// A block of lines of "  rank      : 3 (local_rank: 3)", which ends with its traceback.
// torch/distributed/elastic/multiprocessing/errors/__init__.py of PyTorch 2.7.1.
bool ProcessEnds::take_summary(std::string_view line, std::uint64_t number) {
  if (line.find("Root Cause (first observed failure):") != std::string_view::npos) {
    summary_ = ended();
    return true;
  }
  if (!summary_) return false;
  const auto value = [&](std::string_view words) -> std::optional<std::string_view> {
    const auto rest = behind(line, words);
    return rest ? std::optional(trimmed(*rest)) : std::nullopt;
  };
  if (const auto host = value("  host      : ")) summary_->writer.host = *host;
  if (const auto rank = value("  rank      : ")) summary_->writer.rank = number_at_begin(*rank);
  if (const auto code = value("  exitcode  : ")) {
    summary_->status = number_at_begin(*code);
    summary_->pid = summary_->writer.pid = number_behind(*code, "(pid: ").value_or(0);
  }
  if (const auto time = value("  time      : ")) summary_->at_sec = time_in(*time);
  if (!value("  traceback : ")) return line.find("====") == std::string_view::npos;
  auto fact = std::move(*summary_);
  summary_.reset();
  if (fact.status) tell(std::move(fact), line, number);
  return true;
}

void ProcessEnds::take(std::string_view line, std::uint64_t number) {
  if (take_summary(line, number)) return;
  summary_.reset();
  const auto text = trimmed(line);
  for (const auto& of :
       {of_torchelastic, of_handler, of_loader, of_srun, of_slurmstepd, of_mpirun, of_slurm})
    if (auto fact = of(text)) {
      tell(std::move(*fact), line, number);
      return;
    }
}

}  // namespace nnd::foreign
