#include "foreign/kernel_log.h"

#include "support/catch.h"

using namespace nnd::foreign;
using nccl_net_diag::Cause;

namespace {

std::vector<Fact> facts_of(const std::string& line) {
  std::vector<Fact> out;
  KernelLog log([&](Fact&& fact) { out.push_back(std::move(fact)); });
  log.take(line, 7);
  return out;
}

Fact only(const std::string& text, const std::string& before = "[  812.250000] ") {
  const auto all = facts_of(before + text);
  REQUIRE(all.size() == 1);
  CHECK(all.front().source == Source::kKernelLog);
  return all.front();
}

const std::string kKilled =
    "Out of memory: Killed process 4711 (pt_main (1)) total-vm:9kB, anon-rss:8kB, file-rss:0kB, "
    "shmem-rss:0kB, UID:1000 pgtables:1kB oom_score_adj:0";
constexpr std::int64_t kHalfPast8 = 1795509000;  // 2026-11-24 08:30:00 UTC

}  // namespace

TEST_CASE("a line's time and host, in each form", "[kernel-log]") {
  CHECK(only(kKilled).up_sec == 812.25);
  CHECK(only(kKilled, "<3>[  812.250000] ").up_sec == 812.25);
  CHECK(only(kKilled, "kern  :err   : [  812.250000] ").up_sec == 812.25);
  CHECK(only(kKilled, "[  812.250000][   T99] ").up_sec == 812.25);
  auto fact = only(kKilled, "[Tue Nov 24 08:30:00 2026] ");
  CHECK(fact.at_sec == kHalfPast8);
  CHECK_FALSE(fact.utc);
  CHECK_FALSE(fact.no_year);
  fact = only(kKilled, "Nov 24 08:30:00 node3 kernel: ");
  CHECK(fact.no_year);
  CHECK(fact.writer.host == "node3");
  CHECK(fact.at_sec % 86400 == kHalfPast8 % 86400);
  fact = only(kKilled, "Nov  4 08:30:00.123456 node3 kernel: [  812.250000] ");
  CHECK(fact.up_sec == 812.25);
  for (const std::string time :
       {"2026-11-24T09:30:00+0100", "2026-11-24T09:30:00.123456+01:00", "2026-11-24T08:30:00Z",
        "Tue 2026-11-24 08:30:00 UTC", "1795509000.123456"}) {
    fact = only(kKilled, time + " node3 kernel: ");
    CHECK(fact.at_sec == kHalfPast8);
    CHECK(fact.utc);
    CHECK(fact.writer.host == "node3");
  }
  fact = only(kKilled, "2026-11-24T08:30:00,123456+00:00 ");
  CHECK(fact.at_sec == kHalfPast8);
  CHECK(fact.writer.host.empty());
}

TEST_CASE("journalctl -o json", "[kernel-log]") {
  const std::string begin =
      R"({"__REALTIME_TIMESTAMP":"1795509000000001","_HOSTNAME":"node3","SYSLOG_IDENTIFIER":"kernel",)";
  const auto fact = only(R"("_TRANSPORT":"kernel","MESSAGE":")" + kKilled + "\"}", begin);
  CHECK(fact.at_sec == kHalfPast8);
  CHECK(fact.utc);
  CHECK(fact.writer.host == "node3");
  CHECK(fact.pid == 4711);
  // What a program says of a kernel is that program's.
  CHECK(facts_of(begin + R"("_TRANSPORT":"stdout","MESSAGE":")" + kKilled + "\"}").empty());
  CHECK(facts_of(begin + R"("_TRANSPORT":"kernel","MESSAGE":[1,2]})").empty());
  CHECK(facts_of(begin + R"("_TRANSPORT":"kernel","MESS)").empty());
  CHECK(facts_of(
            R"({"__REALTIME_TIMESTAMP":"9223372036854775807","_TRANSPORT":"kernel","MESSAGE":")" +
            kKilled + "\"}")
            .empty());
}

TEST_CASE("a process that the kernel killed", "[kernel-log]") {
  for (const std::string start :
       {"", "Memory cgroup out of memory: ", "Out of memory (oom_kill_allocating_task): "}) {
    const auto fact = only(start + kKilled.substr(start.empty() ? 0 : 15));
    CHECK(fact.what == What::kKilled);
    CHECK(fact.pid == 4711);
    CHECK(fact.program == "pt_main (1)");
    CHECK(fact.line == 7);
  }
  // Linux 4.18.
  CHECK(only("Killed process 12 (python) total-vm:9kB, anon-rss:8kB").program == "python");
  CHECK(
      facts_of("[    1.500000] Out of memory: Kill process 12 (python) score 9 or sacrifice child")
          .empty());
}

TEST_CASE("a process that crashed, or hangs in the kernel", "[kernel-log]") {
  auto fact = only("python[4711]: segfault at 10 ip 00 sp 00 error 4 in libnccl.so.2[7f+1]");
  CHECK(fact.what == What::kCrashed);
  CHECK(fact.pid == 4711);
  CHECK(fact.program == "python");
  fact = only("INFO: task python:4711 blocked for more than 122 seconds.");
  CHECK(fact.what == What::kHung);
  CHECK(fact.pid == 4711);
}

TEST_CASE("a GPU and an NVSwitch that failed", "[kernel-log]") {
  auto fact = only("NVRM: Xid (PCI:0000:41:00): 79, pid=4711, name=python, GPU is lost");
  CHECK(fact.what == What::kGpu);
  CHECK(fact.pci == "0000:41:00");
  CHECK(fact.status == 79);
  CHECK(fact.pid == 4711);
  CHECK(fact.program == "python");
  fact = only("NVRM: Xid (PCI:0000:41:00 GPU-I:01): 94, pid='<unknown>', name=<unknown>, Ch 1");
  CHECK(fact.pci == "0000:41:00");
  CHECK(fact.pid == 0);
  fact = only("nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 24007, Fatal, Link 30");
  CHECK(fact.status == 24007);
  CHECK(facts_of("[  1.5] nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 20009, Non-fatal, Link 28")
            .empty());
}

TEST_CASE("a port that went down, and which it is", "[kernel-log]") {
  auto fact = only("mlx5_core 0000:41:00.1 ens10np0: Link down");
  CHECK(fact.what == What::kSign);
  CHECK(fact.cause == Cause::kAsyncPort);
  CHECK(fact.pci == "0000:41:00.1");
  CHECK(fact.netdev == "ens10np0");
  fact = only("mlx5_core 0000:41:00.1: Port module event: module 0, Cable unplugged");
  CHECK(fact.cause == Cause::kAsyncPort);
  CHECK(fact.netdev.empty());
  CHECK(only("bnxt_en 0000:3b:00.0 eth2: NIC Link is Down (Cable removed)").netdev == "eth2");
  for (const auto* quiet :
       {"mlx5_core 0000:41:00.1 ens10np0: Link up", "e1000e 0000:00:19.0 eth0: NIC Link is Down",
        "mlx5_core 0000:41:00.1: Port module event: module 0, Cable plugged",
        "mlx5_core 0000:41:00.1: mlx5_pcie_event:299:(pid 1): Detected insufficient power on the "
        "PCIe slot (27W)."})
    CHECK(facts_of(std::string("[    9.500000] ") + quiet).empty());
}

TEST_CASE("an HCA that is sick", "[kernel-log]") {
  for (const auto* text :
       {"mlx5_core 0000:41:00.0: poll_health:800:(pid 0): device's health compromised - reached "
        "miss count",
        "mlx5_core 0000:41:00.0: poll_health:790:(pid 0): Fatal error 1 detected",
        "mlx5_core 0000:41:00.0: wait_func:1100:(pid 9): ACCESS_REG(0x805) timeout. Will cause a "
        "leak of a command resource",
        "bnxt_en 0000:41:00.0 eth2: Firmware fatal reset event, data1: 0x1, data2: 0x2, min wait 1",
        "bnxt_en 0000:41:00.0: cmdq[0x1]=0x2 timedout (100)msec",
        "ice 0000:41:00.0 rocep65s0f0: critical PE Error, GLPE_CRITERR=0x00000001",
        "mlx5_core 0000:41:00.0: AER: PCIe Bus Error: severity=Uncorrected (Fatal), "
        "type=Transaction Layer, (Requester ID)"}) {
    const auto fact = only(text);
    CHECK(fact.cause == Cause::kAsyncFatal);
    CHECK(fact.pci == "0000:41:00.0");
  }
  CHECK(facts_of("[  9.5] pcieport 0000:00:1c.0: PCIe Bus Error: severity=Corrected, type=Physical")
            .empty());
  CHECK(only("NETDEV WATCHDOG: eth2 (mlx5_core): transmit queue 3 timed out").netdev == "eth2");
  const auto fact =
      only("mlx5_core 0000:41:00.0 eth2: NETDEV WATCHDOG: CPU: 1: transmit queue 3 timed out 9 ms");
  CHECK(fact.netdev == "eth2");
  CHECK(fact.cause == Cause::kDevSilent);
}

TEST_CASE("an IOMMU that refuses a device its memory", "[kernel-log]") {
  for (const auto* text :
       {"mlx5_core 0000:41:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x0021 "
        "address=0x7f10200000 flags=0x0020]",
        "AMD-Vi: Event logged [IO_PAGE_FAULT device=41:00.0 domain=0x0021 address=0x7f10200000 "
        "flags=0x0020]",
        "AMD-Vi: Event logged [IO_PAGE_FAULT device=0000:41:00.0 domain=0x0021 "
        "address=0x7f10200000 "
        "flags=0x0020]",
        "DMAR: [DMA Write NO_PASID] Request device [41:00.0] fault addr 0x7f10200000 [fault reason "
        "0x05] PTE Write access is not set",
        "DMAR: [DMA Read PASID 0x1] Request device [0x41:0x00.0] fault addr 0x7f10200000 [fault "
        "reason 0x06] PTE Read access is not set",
        "DMAR: [DMA Write] Request device [41:00.0] PASID ffffffff fault addr 7f10200000 [fault "
        "reason 05] PTE Write access is not set",
        "arm-smmu-v3 arm-smmu-v3.0.auto: event: F_TRANSLATION client: 0000:41:00.0 sid: 0x4100 "
        "ssid: 0x0 iova: 0x7f10200000 ipa: 0x0"}) {
    const auto fact = only(text);
    CHECK(fact.what == What::kSign);
    CHECK(fact.cause == Cause::kGdrAcs);
    CHECK(fact.pci == "0000:41:00.0");
  }
  CHECK(only("AMD-Vi: Event logged [IO_PAGE_FAULT device=0001:c1:00.0 domain=0x0").pci ==
        "0001:c1:00.0");
  for (const auto* other :
       {"DMAR: [INTR-REMAP] Request device [41:00.0] fault index 0x8000 [fault reason 0x22] x",
        "DMAR: DRHD: handling fault status reg 2", "AMD-Vi: Interrupt remapping enabled",
        "AMD-Vi: Event logged [IO_PAGE_FAULT device=41:0", "DMAR: [] fault addr 0x1",
        "DMAR: [DMA Read] Request device [0x0x0x] fault addr",
        "arm-smmu-v3 arm-smmu-v3.0.auto: event: F_TRANSLATION client: (unassigned sid) sid: 0x4"})
    CHECK(facts_of(std::string("[    9.500000] ") + other).empty());
}

TEST_CASE("what other programs write is none of the kernel's", "[kernel-log]") {
  CHECK(facts_of("Nov 24 08:30:00 node3 sshd[12]: " + kKilled).empty());
  CHECK(facts_of(kKilled).empty());
  CHECK(facts_of("2026-11-24 08:30:00 " + kKilled).empty());
  CHECK(facts_of("[rank3]: " + kKilled).empty());
  KernelLog log([](Fact&&) {});
  log.take("[  812.250000] step 9", 1);
  CHECK(log.lines() == 0);
  log.take("Nov 24 08:30:00 node3 kernel: eth0: link up", 2);
  CHECK(log.lines() == 1);
}

TEST_CASE("lines that break off, or were made to harm", "[kernel-log]") {
  const std::string whole = "Nov 24 08:30:00 node3 kernel: [  812.250000] " + kKilled;
  for (std::size_t length = 0; length <= whole.size(); ++length) facts_of(whole.substr(0, length));
  CHECK(facts_of("[  1.5] Killed process 99999999999999999999 () total-vm:").empty());
  CHECK(facts_of("[nan] " + kKilled).empty());
  CHECK(facts_of("[1e400.5] " + kKilled).empty());
  for (const std::string time : {"[99999999999.5]", "[Tue Nov 24 08:30:00 9999]"})
    CHECK(facts_of(time + " " + kKilled).empty());
  for (const std::string time : {"9999-11-24T08:30:00Z", "99999999999.5", "-5.5"})
    CHECK(facts_of(time + " node3 kernel: " + kKilled).empty());
  CHECK(facts_of("Feb 31 08:30:00 node3 kernel: " + kKilled).empty());
  CHECK(only(kKilled + std::string(60'000, 'x')).text.size() == 512);
  CHECK(facts_of(R"({"__REALTIME_TIMESTAMP":"kernel")" + std::string(60'000, '[')).empty());
}
