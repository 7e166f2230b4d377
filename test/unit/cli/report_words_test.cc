// The words of a report: times with their date, sizes, proper names, what to type, and a port that
// came back.
#include "cli/common/time_text.h"
#include "cli/report/difference_text.h"
#include "cli/report/look_commands.h"
#include "cli/report/names.h"
#include "cli/report/sink_text.h"
#include "cli/report/verdict.h"
#include "cli/report/warned.h"
#include "cli/report/words.h"
#include "support/catch.h"
#include "unit/report/made.h"

using namespace nnd::cli;
using nnd::report::analyse;
using nnd::report::test::Made;
namespace t = nnd::report::test;

namespace {

using Lines = std::vector<std::string>;

Made hang() {
  Made made;
  made.ring(2);
  made.stall(0, "nothing-came", 30, 20, 1);
  made.box(0, true, 40);
  return made;
}

}  // namespace

TEST_CASE("times have their date, sizes their unit, and proper names their capitals", "[words]") {
  CHECK(time_text(0) == "1970-01-01 00:00:00.000 UTC");
  CHECK(time_text(1'767'225'599'999'999'999) == "2025-12-31 23:59:59.999 UTC");
  CHECK(second_text(1'767'225'599'999'999'999) == "2025-12-31 23:59:59 UTC");
  CHECK(bytes_text(930e6) == "930 MB");
  CHECK(bytes_text(9.3e8 * 10) == "9.30 GB");
  CHECK(bytes_text(12) == "12 B");
  CHECK(cause_text("IB-FLID").starts_with("IB-FLID, InfiniBand"));
  CHECK(cause_text("QP-110") == "QP-110, the peer's address did not resolve (ETIMEDOUT)");
  CHECK(cause_text("NOT-OURS") == "NOT-OURS");
}

TEST_CASE("what to type for the rank to look at, with its host and process", "[words]") {
  auto made = hang();
  made.box(1, true, 10);  // it shows no sign of life
  CHECK(commands_to_look(analyse(made.input)) ==
        Lines{"ssh host0 ps -o pid,stat,wchan:32,cmd -p 101   # rank 1"});
  made.box(1, true, 39);
  CHECK(commands_to_look(analyse(made.input)) ==
        Lines{"ssh host0 py-spy dump --pid 101   # rank 1"});
  made.box(1, false, 20);  // it has died: there is none to look at, only what its node says of it
  CHECK(commands_to_look(analyse(made.input)) ==
        Lines{"ssh host0 dmesg -T | grep -iE 'oom|killed process|xid|segfault'"});
}

TEST_CASE("what two ends have unlike is said of the one that differs, not of who told", "[words]") {
  Made made;
  made.ring(4);
  for (const int process : {0, 1}) {
    auto told = made.event(process, t::EventId::kPolicyWarn, 2);
    told.severity = t::Severity::kWarn;
    told.cause = "MTU-DIFF";
    told.dev = Made::dev(process);
    made.add(told);
  }
  auto report = analyse(made.input);
  CHECK(warned_text(report).starts_with("mlx5_0, mlx5_1 of host0: MTU-DIFF"));
  report.odd = {{"MTU of mlx5_0", "4096", 3, {{"1024", {"host3"}, {3}}}, false}};
  CHECK(warned_text(report).starts_with("mlx5_0 of host3: MTU-DIFF"));
}

TEST_CASE("where a variable is behind what differs, it is what to change", "[words]") {
  Made made;
  made.ring(4);
  auto report = analyse(made.input);
  report.odd = {{"transport", "IB", 3, {{"TCP", {"host1"}, {2}}}, true},
                {"NCCL_IB_DISABLE", "not set", 3, {{"1", {"host1"}, {2}}}, false}};
  const nnd::report::Difference difference;
  CHECK(difference_remedy(report, difference)
            .starts_with("NCCL_IB_DISABLE is 1 on host1, and not "
                         "set on the other 3 processes: "));
  report.odd[1].others[0].members = {1};  // another process's
  CHECK(difference_remedy(report, difference).starts_with("Find out why NCCL found no HCA"));
}

TEST_CASE("of two that differ, the variable behind it tells whose it is", "[words]") {
  Made made;
  made.ring(2);
  auto report = analyse(made.input);
  report.odd = {
      {"GID index of mlx5_0", "", 0, {{"0", {"host0"}, {0}}, {"3", {"host1"}, {1}}}, true}};
  const nnd::report::Difference difference;
  CHECK(difference_text(report, difference) ==
        "GID index of mlx5_0 is 0 on host0, and 3 on host1 (which of the two is wrong can't be "
        "told from two)");
  report.odd.push_back(
      {"NCCL_IB_GID_INDEX", "", 0, {{"0", {"host0"}, {0}}, {"not set", {"host1"}, {1}}}, false});
  CHECK(difference_text(report, difference) ==
        "GID index of mlx5_0 is 0 on host0, and 3 on host1, since NCCL_IB_GID_INDEX is 0 on host0, "
        "and not set on host1");
}

TEST_CASE("nodes that are alike cross rails, and nobody's HCA is at fault", "[words]") {
  Made made;
  const bool alike = GENERATE(true, false);
  for (const int process : {0, 2}) {
    made.load(process, 0, 2);
    for (const int index : {0, 1}) {
      auto hca = made.event(process, t::EventId::kHcaPort, 0);
      hca.dev = Made::dev(index);
      hca.dev.gid = fmt::format("gid{}{}", process, index);
      if (process == 2 && index == 1 && !alike) hca.dev.subnet = "net9";
      hca.verdict = "taken";
      made.add(hca);
    }
  }
  auto fails = made.event(0, t::EventId::kConnFail, 3);
  fails.severity = t::Severity::kError;
  fails.cause = "SUB-RAIL";
  fails.conn = 1;
  fails.failure = 1;
  fails.dev = Made::dev(0);
  fails.dev.gid = "gid00";
  fails.peer.gid = "gid21";
  made.add(fails);
  const auto report = analyse(made.input);
  CHECK(verdict(report).starts_with("between the rails net0 and net1: SUB-RAIL") == alike);
  CHECK((remedy(report).find("NCCL_CROSS_NIC=0") != std::string::npos) == alike);
}

TEST_CASE("a ring of processes that are in different communicators tells of each", "[words]") {
  Made made;
  made.ring(2);
  for (const int process : {0, 1}) {
    made.stall(process, "nothing-came", 30, 20, 1 - process);
    made.box(process, true, 40);
  }
  auto report = analyse(made.input);
  nnd::report::Sink sink;
  sink.kind = nnd::report::Sink::Kind::kCycle;
  sink.members = {0, 1};
  CHECK(sink_text(report, sink).starts_with("ranks 0-1 (host0) wait for each other"));
  CHECK_FALSE(are_in_several_communicators(report, sink));
  std::vector<nnd::log::Process> logs;
  for (const auto& member : report.picture.members) logs.push_back(*member.log);
  for (std::size_t i = 0; i < logs.size(); ++i) {
    nnd::log::Task task;
    task.kind = "AllReduce";
    task.ordinal = 3 + i;
    logs[i].communicators[i == 0 ? "0xa" : "0xb"].waits_in = task;
    report.picture.members[i].log = &logs[i];
  }
  CHECK(are_in_several_communicators(report, sink));
  CHECK(sink_text(report, sink) ==
        "ranks 0-1 (host0) wait for each other: rank 0 (host0) is in AllReduce #3 of communicator "
        "0xa, rank 1 (host0) is in AllReduce #4 of communicator 0xb");
}

TEST_CASE("a port's event is told once, and that it came back", "[words]") {
  const bool back = GENERATE(false, true);
  Made made;
  made.ring(4);
  const auto port = [&](const char* what, double sec) {
    auto out = made.event(1, t::EventId::kPortEvent, sec);
    out.dev = Made::dev(1);
    out.event = what;
    return out;
  };
  auto down = port("PORT_ERR", 5);
  down.severity = t::Severity::kWarn;
  down.cause = "ASYNC-PORT";
  down.failure = 1;
  made.add(down);
  if (back) made.add(port("PORT_ACTIVE", 5.5));
  made.fail(1, 2, "ASYNC-PORT", 9);
  for (int i = 0; i < 4; ++i) made.end(i, 12);
  const std::string said = verdict(analyse(made.input));
  INFO(said);
  const auto first = said.find("a port went down");
  CHECK(first != std::string::npos);
  CHECK(said.find("a port went down", first + 1) == std::string::npos);
  CHECK((said.find("; the port came back 0.5 s later") != std::string::npos) == back);
}

TEST_CASE("where NCCL's own words alone tell why, the first sentence has them", "[words]") {
  Made made;
  for (const int i : {0, 2}) made.load(i);
  for (const int i : {0, 2}) made.connect(i, 2 - i);
  auto failed = made.of(0, 2, nnd::log::Direction::kSend, t::EventId::kConnFail, 9);
  failed.severity = t::Severity::kError;
  failed.cause = "RC-2";
  failed.failure = 1;
  failed.nccl_warning = "NET/IB: open failed: No such file or directory";
  made.add(failed);
  const std::string said = verdict(analyse(made.input));
  INFO(said);
  CHECK(said.find("RC-2, the transport returned ncclSystemError (NCCL: \"NET/IB: open failed: No "
                  "such file or directory\"), at ") != std::string::npos);
}

TEST_CASE("of two that wait for each other both are named, and what each waits for", "[words]") {
  Made made;
  for (const int i : {0, 2}) made.load(i);
  for (const int i : {0, 2}) made.connect(i, 2 - i);
  for (const int i : {0, 2}) made.stall(i, "nothing-came", 30, 20, 2 - i);
  for (const int i : {0, 2}) made.box(i, true, 40);
  CHECK(verdict(analyse(made.input)) ==
        "not the network: ranks 0,2 (host0, host1) wait for each other's data and send none, as "
        "where they are in different collectives, or their GPUs don't run; 2 processes wait.");
}

TEST_CASE("where a log just ends, both ends of what failed are named", "[words]") {
  Made made;
  made.ring(4);
  made.fail(1, 2, "WC-12", 65);
  for (const int i : {0, 1, 3}) made.end(i, 70);
  made.input.job.cut_off(Made::proc(2));
  const std::string said = verdict(analyse(made.input));
  INFO(said);
  CHECK(
      said.starts_with("mlx5_1 of host0 (rank 1) failed towards host1 with WC-12, and "
                       "the log of rank 2 (host1) just ends at "));
}

TEST_CASE("of two nodes between which all fails either may be the one, and it is said why",
          "[words]") {
  Made made;
  made.ring(4);  // processes 0 and 1 of host0, 2 and 3 of host1
  for (int i = 0; i < 4; ++i) {
    auto hca = made.event(i, t::EventId::kHcaPort, 0);
    hca.dev = Made::dev(i ^ 1);
    hca.verdict = "taken";
    made.add(hca);
  }
  made.fail(1, 2, "WC-12", 5);
  made.fail(0, 3, "WC-12", 5, 2);
  for (int i = 0; i < 4; ++i) made.end(i, 9);
  const auto report = analyse(made.input);
  const std::string said = verdict(report);
  INFO(said);
  CHECK(said.starts_with("host0 or host1 (all that failed is between the two): WC-12"));
  CHECK(report.blame == nnd::report::Blame::kNetwork);
}

TEST_CASE("of a rank that waits for others whose logs are missing it is told that it slid to TCP",
          "[words]") {
  Made made;
  made.load(1, 0, 2);
  auto warned = made.event(1, t::EventId::kPolicyWarn, 1);
  warned.severity = t::Severity::kWarn;
  warned.cause = "DEV-FALLBACK";
  warned.msg = "None of the 2 HCAs can be used by NCCL, which will run over TCP.";
  made.add(warned);
  auto waits = made.event(1, t::EventId::kInitStall, 12);
  waits.step = "accept";
  waits.age_us = 10e6;
  waits.cause = "INIT-STUCK";
  made.add(waits);
  made.box(1, true, 39);
  const auto report = analyse(made.input);
  CHECK(verdict(report).starts_with(
      "rank 1 (host0): DEV-FALLBACK, NCCL slides to TCP, and it waits for others; rank 0 of 2 "
      "left no log"));
}

TEST_CASE("launchers that count ranks unlike are named", "[words]") {
  Made made;
  made.load(0, 0, 2);
  made.load(2, 0, 3);
  const auto report = analyse(made.input);
  CHECK(verdict(report).ends_with(": by their launchers there are 2 on host0, 3 on host1."));
  CHECK(report.blame == nnd::report::Blame::kNotNetwork);
  CHECK(remedy(report).find("WORLD_SIZE") != std::string::npos);
}

TEST_CASE("a port that went down several times came back after the last, or did not", "[words]") {
  Made made;
  for (const int process : {0, 2}) made.load(process, 0, 2);
  made.connect(0, 2);
  const bool is_up = GENERATE(true, false);
  for (const double sec : {3.0, 5.0}) {
    auto down = made.event(0, t::EventId::kPortEvent, sec);
    down.severity = t::Severity::kWarn;
    down.event = "PORT_ERR";
    down.cause = "ASYNC-PORT";
    down.dev = Made::dev(0);
    made.add(down);
    if (sec > 4 && !is_up) continue;
    auto up = made.event(0, t::EventId::kPortEvent, sec + 1);
    up.event = "PORT_ACTIVE";
    up.dev = Made::dev(0);
    made.add(up);
  }
  made.fail(0, 2, "WC-12", 7);
  const auto said = verdict(analyse(made.input));
  INFO(said);
  CHECK(said.ends_with(is_up ? "; it went down 2 times; the port came back 1.0 s after the last."
                             : "; it went down 2 times, and did not come back after the last."));
}

TEST_CASE("a link of half the others' speed is told of a job that went well", "[words]") {
  Made made;
  const long slower = GENERATE(100'000, 380'000);
  for (const int process : {0, 2, 4}) {
    auto hca = made.event(process, t::EventId::kHcaPort, 0);
    hca.dev = Made::dev(process);
    hca.dev.speed_mbps = process == 2 ? slower : 400'000;
    hca.verdict = "taken";
    made.add(hca);
    t::leave(made, process, 9, 0, 0);
  }
  const auto report = analyse(made.input);
  const bool told = slower == 100'000;
  CHECK(report.warned == told);
  CHECK(
      verdict(report).starts_with("Mbit/s of mlx5_0 is 100000 on host1, and 400000 on the other 2 "
                                  "processes; healthy: ") == told);
  CHECK(remedy(report).empty() == !told);
}

TEST_CASE("of several starts the first line says which it is of, and how the last went",
          "[words]") {
  JobLine first, last;
  first.run.first = 1'000'000'000;
  last.run.first = 61'000'000'000;
  last.kind = "healthy";
  (GENERATE(true, false) ? first : last).judged = true;
  CHECK(later_start_text({first, last}) ==
        (first.judged ? " This is of the start at 00:00:01.000; of the last, at 1970-01-01 "
                        "00:01:01.000 UTC: healthy."
                      : ""));
}
