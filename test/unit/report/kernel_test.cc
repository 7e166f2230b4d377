#include "report/kernel.h"

#include "report/kernel_match.h"
#include "support/catch.h"
#include "unit/report/made.h"

using namespace nnd::report;
using nccl_net_diag::Cause;
using nnd::foreign::Evidence;
using nnd::foreign::Fact;
using nnd::foreign::Source;
using nnd::foreign::What;
using nnd::report::test::kBegin;
using nnd::report::test::Made;

namespace {

// Of the process's host, by CLOCK_MONOTONIC in seconds.
Fact word(int process, What what, double up_sec) {
  Fact out;
  out.source = Source::kKernelLog;
  out.what = what;
  out.writer.host = Made::host(process);
  out.up_sec = up_sec;
  out.file = "dmesg";
  out.text = "Out of memory: Killed process";
  if (what == What::kSign) {
    out.cause = Cause::kAsyncPort;
    out.netdev = "eth" + std::to_string(process);
  } else {
    out.pid = 100 + process;
  }
  return out;
}

Evidence with(std::vector<Fact> facts) {
  Evidence out;
  for (auto& one : facts) out.add(std::move(one));
  return out;
}

// A ring in which process 3 died at 20 s; who sends to it, 2, fails of that.
Made dead(bool with_box = true) {
  Made made;
  made.ring(4);
  for (const int i : {0, 1, 2}) made.end(i, 40);
  made.add(made.event(3, nnd::log::EventId::kPluginLoad, 20));
  if (with_box) made.box(3, false, 20);
  made.fail(2, 3, "WC-12", 24);
  return made;
}

Report heard(const Made& made, const Evidence& evidence) {
  auto out = analyse(made.input);
  hear_kernel(out, evidence);
  return out;
}

}  // namespace

TEST_CASE("a process that its kernel killed is what the job failed of", "[kernel]") {
  for (const bool box : {true, false}) {
    const auto made = dead(box);
    const auto evidence = with({word(3, What::kKilled, 20)});
    const auto report = heard(made, evidence);
    REQUIRE(report.ended_by_kernel);
    CHECK(report.kind == Kind::kLost);
    CHECK(report.blame == Blame::kNotNetwork);
    REQUIRE(report.first.losses.size() == 1);
    CHECK(report.picture.members[report.first.losses[0].member].rank == 3);
    CHECK(report.first.at == kBegin + 20 * static_cast<Ns>(nnd::report::test::kSec));
    CHECK(report.first.roots.empty());
    CHECK_FALSE(report.first.followed.empty());
  }
}

TEST_CASE("a kernel's word of another process, host or time accuses nobody", "[kernel]") {
  const auto made = dead(false);
  const auto alone = analyse(made.input);
  auto other_host = word(3, What::kKilled, 20);
  other_host.writer.host = "host9";
  for (const auto& fact : {other_host, word(3, What::kKilled, 5), word(3, What::kKilled, 5000),
                           word(0, What::kKilled, 20)}) {
    const auto report = heard(made, with({fact}));
    CHECK_FALSE(report.ended_by_kernel);
    CHECK(report.kernel.empty());
    CHECK(report.kind == alone.kind);
    CHECK(report.blame == alone.blame);
  }
}

TEST_CASE("what nobody's pid fits is kept where a process ended there then", "[kernel]") {
  const auto made = dead(false);
  const auto alone = analyse(made.input);
  auto stranger = word(3, What::kKilled, 21);
  stranger.pid = 999;
  auto later = stranger, gpu = stranger;
  later.up_sec = 39;
  gpu.what = What::kGpu;
  gpu.up_sec = 22;
  const auto evidence = with({stranger, later, gpu});
  const auto report = heard(made, evidence);
  CHECK_FALSE(report.ended_by_kernel);
  REQUIRE(report.kernel.size() == 2);
  CHECK(report.kernel[0].told->what == What::kKilled);
  CHECK(report.kernel[0].at < report.kernel[1].at);
  CHECK_FALSE(report.kernel[0].member);
  CHECK(report.kind == alone.kind);
  CHECK(report.blame == alone.blame);
}

TEST_CASE("what failed before a process was killed does not follow from it", "[kernel]") {
  Made made;
  made.ring(4);
  for (const int i : {0, 1, 2}) made.end(i, 60);
  made.fail(2, 3, "WC-12", 24);
  made.add(made.event(3, nnd::log::EventId::kPluginLoad, 50));
  const auto alone = analyse(made.input);
  const auto evidence = with({word(3, What::kKilled, 50)});
  const auto report = heard(made, evidence);
  CHECK_FALSE(report.ended_by_kernel);
  CHECK(report.kernel.size() == 1);
  CHECK(report.kind == alone.kind);
  CHECK(report.blame == alone.blame);
}

TEST_CASE("what waited long before a process was killed does not wait for that", "[kernel]") {
  Made made;
  made.ring(4);
  for (const int i : {0, 1, 2}) {
    made.stall(i, "nothing-came", 30, 25, (i + 3) % 4);
    made.box(i, false, 100);
  }
  made.stall(3, "idle", 30, 25);
  made.box(3, false, 100);
  REQUIRE(analyse(made.input).kind == Kind::kHang);
  const auto evidence = with({word(3, What::kKilled, 100)});
  const auto report = heard(made, evidence);
  CHECK_FALSE(report.ended_by_kernel);
  CHECK(report.kind == Kind::kHang);
}

TEST_CASE("a local failure does not follow from another's end", "[kernel]") {
  Made made;
  made.ring(4);
  for (const int i : {0, 1, 2}) made.end(i, 40);
  made.fail(0, 1, "WC-4", 24);
  made.add(made.event(3, nnd::log::EventId::kPluginLoad, 20));
  const auto evidence = with({word(3, What::kKilled, 20)});
  const auto report = heard(made, evidence);
  CHECK_FALSE(report.ended_by_kernel);
  CHECK(report.blame == Blame::kNetwork);
}

TEST_CASE("a crash in NCCL or below it is open", "[kernel]") {
  const auto made = dead();
  auto crash = word(3, What::kCrashed, 20);
  crash.text = "python[103]: segfault at 0 ip 0 sp 0 error 4 in libc.so.6[7f+1]";
  CHECK(heard(made, with({crash})).blame == Blame::kNotNetwork);
  crash.text = "python[103]: segfault at 0 ip 0 sp 0 error 4 in libnccl.so.2[7f+1]";
  CHECK(heard(made, with({crash})).blame == Blame::kOpen);
}

namespace {

void name_netdev(Made& made, int process) {
  auto hca = made.event(process, nnd::log::EventId::kHcaPort, 0.1);
  hca.dev = Made::dev(process);
  hca.dev.netdev = "eth" + std::to_string(process);
  hca.dev.pci = "0000:4" + std::to_string(process) + ":00.0";
  hca.verdict = "taken";
  made.add(hca);
}

// What process 2 sends to one that left no log fails at 24 s.
Made without_peer() {
  Made made;
  made.ring(3);
  for (int i = 0; i < 3; ++i) name_netdev(made, i);
  made.add(made.of(2, 3, nnd::log::Direction::kSend, nnd::log::EventId::kConnOpen, 1));
  made.fail(2, 3, "WC-12", 24);
  for (int i = 0; i < 3; ++i) made.end(i, 40);
  return made;
}

}  // namespace

TEST_CASE("a port that went down, by its netdev, is why requests failed", "[kernel]") {
  const auto made = without_peer();
  REQUIRE(analyse(made.input).blame == Blame::kOpen);
  SECTION("by its netdev") {
    const auto evidence = with({word(2, What::kSign, 20)});
    const auto report = heard(made, evidence);
    REQUIRE(report.kernel_sign);
    CHECK(report.blame == Blame::kNetwork);
    CHECK(report.kind == Kind::kFailed);
  }
  SECTION("by its place on the PCI bus") {
    auto fact = word(2, What::kSign, 20);
    fact.netdev.clear();
    fact.pci = "0000:42:00.0";
    const auto evidence = with({fact});
    CHECK(heard(made, evidence).kernel_sign);
  }
  SECTION("after it, or on another HCA: no") {
    const auto evidence = with({word(2, What::kSign, 30), word(0, What::kSign, 20)});
    const auto report = heard(made, evidence);
    CHECK_FALSE(report.kernel_sign);
    CHECK(report.kernel.size() == 2);
    CHECK(report.blame == Blame::kOpen);
  }
  SECTION("by a clock whose zone isn't known: a hint, and no proof") {
    auto fact = word(2, What::kSign, 0);
    fact.at_sec = 1000 + 20 + 7200;
    const auto evidence = with({fact});
    const auto report = heard(made, evidence);
    CHECK(report.kernel_sign);
    CHECK(report.blame == Blame::kOpen);
  }
}

TEST_CASE("a port at the other end of what failed counts too", "[kernel]") {
  Made made;
  made.ring(4);
  name_netdev(made, 3);
  made.fail(2, 3, "WC-12", 24);
  for (int i = 0; i < 4; ++i) made.end(i, 40);
  const auto evidence = with({word(3, What::kSign, 20)});
  const auto report = heard(made, evidence);
  CHECK(report.kernel_sign);
  CHECK(report.blame == Blame::kNetwork);
}

TEST_CASE("an IOMMU that refused an HCA its memory is why a request failed", "[kernel]") {
  Made made;
  made.ring(4);
  name_netdev(made, 2);
  auto sign = word(2, What::kSign, 20);
  sign.cause = Cause::kGdrAcs;
  SECTION("of the HCA itself") {
    made.fail(2, 3, "WC-4", 24);
    for (int i = 0; i < 4; ++i) made.end(i, 40);
    const auto evidence = with({sign});
    const auto report = heard(made, evidence);
    CHECK(report.kernel_sign);
    CHECK(report.blame == Blame::kNetwork);
  }
  SECTION("a QP that was not moved has another reason") {
    made.fail(2, 3, "QP-110", 24);
    for (int i = 0; i < 4; ++i) made.end(i, 40);
    const auto evidence = with({sign});
    CHECK_FALSE(heard(made, evidence).kernel_sign);
  }
}

TEST_CASE("a healthy job stays so, whatever its kernels told before", "[kernel]") {
  Made made;
  made.ring(4);
  for (int i = 0; i < 4; ++i) made.end(i, 40);
  auto before = word(1, What::kSign, 0);
  before.utc = true;
  before.at_sec = 10;
  const auto evidence = with({before, word(2, What::kKilled, 39), word(1, What::kGpu, 20)});
  const auto report = heard(made, evidence);
  CHECK(report.kind == Kind::kHealthy);
  REQUIRE(report.kernel.size() == 1);  // by its pid a GPU's is one of the job
  CHECK(report.kernel[0].told->what == What::kGpu);
}

TEST_CASE("whose kernel a line is of", "[kernel]") {
  Fact named, unnamed;
  named.source = unnamed.source = Source::kKernelLog;
  named.writer.host = "node1.cluster";
  unnamed.file = "/logs/dmesg.txt";
  const auto of = [&](const std::string& file, std::set<std::string> hosts) {
    Fact fact = unnamed;
    fact.file = file;
    const auto evidence = with({fact});
    return KernelHosts(std::move(hosts), evidence).of(fact);
  };
  CHECK(KernelHosts({"node1", "node2"}, with({named})).of(named) == "node1");
  named.writer.host = "node3";
  CHECK(KernelHosts({"node1"}, with({named})).of(named).empty());
  CHECK(of("/logs/node2/dmesg.txt", {"node1", "node2"}) == "node2");
  CHECK(of("/logs/dmesg-node2.log", {"node1", "node2"}) == "node2");
  CHECK(of("/logs/node2.dmesg", {"node1", "node2"}) == "node2");
  CHECK(of("/logs/dmesg-node12.log", {"node1", "node2"}).empty());
  CHECK(of("/logs/dmesg.txt", {"node1", "node2"}).empty());
  CHECK(of("/logs/dmesg.txt", {"node1"}) == "node1");
}

TEST_CASE("the year and the zone that a line doesn't tell", "[kernel]") {
  constexpr std::int64_t kNewYear = 1798761600;  // 2027-01-01 00:00:00 UTC
  Fact fact;
  fact.no_year = true;
  fact.at_sec = 946684800 + 365 * 86400 + 86399;  // 31 December 2000, 23:59:59
  CHECK(nearest_sec(fact, kNewYear + 5, false) == kNewYear - 1);
  CHECK(nearest_sec(fact, kNewYear - 5, false) == kNewYear - 1);
  Fact zone;
  zone.at_sec = kNewYear + 5 * 3600 + 1800 + 7;
  CHECK(nearest_sec(zone, kNewYear, true) == kNewYear + 7);
  CHECK(nearest_sec(zone, kNewYear, false) == zone.at_sec);
  zone.at_sec = kNewYear + 86400;
  CHECK(nearest_sec(zone, kNewYear, true) == kNewYear + 86400 - 14 * 3600);
}
