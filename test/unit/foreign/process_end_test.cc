#include "foreign/process_end.h"

#include <csignal>
#include <string>
#include <vector>

#include "support/catch.h"

using namespace nnd::foreign;

namespace {

std::vector<Fact> ends(const std::vector<std::string>& lines) {
  std::vector<Fact> out;
  ProcessEnds ends([&](Fact&& fact) { out.push_back(std::move(fact)); });
  std::uint64_t number = 0;
  for (const auto& line : lines) ends.take(line, ++number);
  return out;
}

Fact only(const std::string& line) {
  const auto all = ends({line});
  REQUIRE(all.size() == 1);
  return all[0];
}

}  // namespace

TEST_CASE("torchelastic's first observed failure", "[process-end]") {
  for (const std::string prefix : {"", "[rank0]: "}) {
    std::vector<std::string> lines{"Root Cause (first observed failure):",
                                   "[0]:",
                                   "  time      : 2027-01-15_08:00:30",
                                   "  host      : node1.site",
                                   "  rank      : 11 (local_rank: 3)",
                                   "  exitcode  : -9 (pid: 1234)",
                                   "  error_file: <N/A>",
                                   "  traceback : Signal 9 (SIGKILL) received by PID 1234"};
    for (auto& line : lines) line.insert(0, prefix);
    const auto all = ends(lines);
    REQUIRE(all.size() == 1);
    CHECK(all[0].what == What::kEnded);
    CHECK(all[0].writer.rank == 11);
    CHECK_FALSE(all[0].on_node);
    CHECK(all[0].writer.host == "node1.site");
    CHECK(all[0].status == -SIGKILL);
    CHECK(all[0].pid == 1234);
    CHECK(all[0].at_sec == 1800000030);
    CHECK(all[0].line == 8);
  }
}

TEST_CASE("what those who start processes, or catch their signals, say of their end",
          "[process-end]") {
  auto fact =
      only("E0305 api.py:863] failed (exitcode: -11) local_rank: 2 (pid: 907) of binary: x");
  CHECK(fact.status == -SIGSEGV);
  CHECK(fact.writer.rank == 2);
  CHECK(fact.on_node);
  fact = only("[node7:912  :0:914] Caught signal 7 (Bus error: nonexistent physical address)");
  CHECK(fact.status == -SIGBUS);
  CHECK(fact.writer.host == "node7");
  CHECK(fact.pid == 912);
  fact = only("[node7:912] Signal: Segmentation fault (11)");
  CHECK(fact.status == -SIGSEGV);
  fact = only("srun: error: node3: task 5: Out Of Memory");
  CHECK(fact.status == -SIGKILL);
  CHECK(fact.detail == "for lack of memory");
  CHECK(fact.writer.rank == 5);
  CHECK(fact.writer.host == "node3");
  CHECK(only("srun: error: node3: task 5: Exited with exit code 2").status == 2);
  for (const std::string event : {"oom_kill event in", "oom-kill event(s) in"})
    CHECK(only("slurmstepd: error: Detected 1 " + event + " StepId=7.0. Some").detail ==
          "for lack of memory");
  fact = only(
      "mpirun noticed that process rank 3 with PID 1234 on node n1 exited on signal 9 (Killed).");
  CHECK(fact.status == -SIGKILL);
  CHECK(fact.writer.rank == 3);
  CHECK(fact.writer.host == "n1");
}

TEST_CASE("a worker of a data loader's", "[process-end]") {
  auto fact =
      only("[rank3]: RuntimeError: DataLoader worker (pid 4711) is killed by signal: Killed. ");
  CHECK(fact.program == kLoaderWorker);
  CHECK(fact.pid == 4711);
  CHECK(fact.status == -SIGKILL);
  CHECK(fact.writer.rank == 3);
  fact = only(
      "DataLoader worker (pid 12) is killed by signal: Bus error. It is possible that dataloader's "
      "workers are out of shared memory. Please try to raise your shared memory limit.");
  CHECK(fact.status == -SIGBUS);
  CHECK_FALSE(fact.writer.rank);
  CHECK(only("DataLoader worker (pid 12) is killed by signal: Terminated. ").status == -SIGTERM);
  CHECK(only("RuntimeError: DataLoader worker (pid 12) exited unexpectedly with exit code 1. "
             "Details are lost due to multiprocessing.")
            .status == 1);
  for (const auto& [words, signal] : {std::pair{"bus error", SIGBUS},
                                      {"segmentation fault", SIGSEGV},
                                      {"floating-point exception", SIGFPE}}) {
    fact = only(std::string("[rank1]: ERROR: Unexpected ") + words + " encountered in worker. x");
    CHECK(fact.program == kLoaderWorker);
    CHECK(fact.status == -signal);
    CHECK(fact.pid == 0);
    CHECK(fact.writer.rank == 1);
  }
  CHECK(ends({"DataLoader worker (pid 12", "DataLoader worker (pid(s) 12, 13) exited unexpectedly",
              "DataLoader worker (pid 12) is killed by signal: Real-time signal 3. ",
              "ERROR: Unexpected end encountered in worker."})
            .empty());
}

TEST_CASE("lines that tell of no end", "[process-end]") {
  CHECK(ends({"srun: error: node3: tasks 0-3: Killed", "failed (exitcode: x", "rank 3 was Killed",
              "Root Cause (first observed failure):", "=====", "  traceback : x"})
            .empty());
}

TEST_CASE("why Slurm ended a job", "[process-end]") {
  const auto why = [](const std::string& rest) {
    const auto fact = only(
        "slurmstepd: error: *** STEP 4711.0 ON node1 CANCELLED AT "
        "2026-11-26T11:17:07" +
        rest + " ***");
    CHECK(fact.what == What::kCancelled);
    CHECK(fact.place == "2026-11-26T11:17:07");
    return fact.detail;
  };
  CHECK(why(" DUE TO TIME LIMIT") == "its time limit was over");
  CHECK(why(" DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS") == kNodeFailed);
  CHECK(why(" DUE TO PREEMPTION") == "another job took its place");
  CHECK(why("") == kStepCancelled);
  CHECK(only("slurmstepd: error: *** JOB 4711 ON node1 CANCELLED AT 2026-11-26T11:17:07 ***")
            .detail == "somebody cancelled it, or its launcher did");
  CHECK(why(" DUE to SIGNAL Terminated") == kStepCancelled);
  CHECK(ends({"*** STEP 1.0 ON node1 CANCELLED AT 2026-11-26T11:17:07 DUE TO TASK FAILURE ***",
              "the order was CANCELLED AT 2026-11-26"})
            .empty());
}
