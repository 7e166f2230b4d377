#include "foreign/nccl_text.h"

#include <cerrno>
#include <sstream>

#include "support/catch.h"

using namespace nnd::foreign;
using nccl_net_diag::Cause;

namespace {

std::vector<Fact> facts_of(const std::string& lines) {
  std::vector<Fact> out;
  NcclText text([&](Fact&& fact) { out.push_back(std::move(fact)); });
  std::istringstream in(lines);
  for (std::string line; std::getline(in, line);) text.take(line, 7);
  return out;
}

Fact only(const std::string& text, const std::string& level = "WARN") {
  const auto all = facts_of("node1:10:11 [0] x.cc:1 NCCL " + level + " " + text);
  REQUIRE(all.size() == 1);
  return all.front();
}

}  // namespace

TEST_CASE("HCAs, transport, release and rank", "[nccl-text]") {
  const auto hcas = facts_of(
      "node1:10:11 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:2/IB/SHARP [RO]; OOB "
      "eth0:10.0.0.1<0>");
  REQUIRE(hcas.size() == 2);
  CHECK(hcas[0].dev == "mlx5_0:1");
  CHECK(hcas[0].text == "RoCE");
  CHECK(hcas[1].dev == "mlx5_1:2");
  CHECK(hcas[1].text == "IB");
  CHECK(only("Using network IB", "INFO").text == "IB");
  const auto release = facts_of("NCCL version 2.28.9+cuda12.9");
  REQUIRE(release.size() == 1);
  CHECK(release[0].text == "2.28.9");
  for (const std::string start : {"", "ncclCommInitRank ", "[Rank 3] ncclCommInitRank "}) {
    const auto rank = only(
        start + "comm 0x1 rank 3 nranks 16 cudaDev 3 nvmlDev 3 busId 1000 commId 0x2 - Init START",
        "INFO");
    CHECK(rank.what == What::kRank);
    CHECK(rank.rank == 3);
    CHECK(rank.nranks == 16);
  }
}

TEST_CASE("a QP that was not moved, as each release tells it", "[nccl-text]") {
  auto fact = only("Call to ibv_modify_qp failed with error Connection timed out");
  CHECK(fact.cause == Cause::kQp110);
  CHECK(fact.dev.empty());
  CHECK(only("Call to ibv_modify_qp failed with error No data available errno 61").cause ==
        Cause::kQp61);
  const std::string newest =
      "Call to ibv_modify_qp failed with 110 Connection timed out, on dev "
      "mlx5_2:1, curr state INIT, next state RTR, local GID index 3, local "
      "GID ";
  fact = only(newest + "::ffff:10.0.2.1, remote GID ::ffff:10.0.3.2");
  CHECK(fact.cause == Cause::kQp110);
  CHECK(fact.sure == Sure::kSaid);
  CHECK(fact.dev == "mlx5_2:1");
  CHECK(fact.error == 110);
  CHECK(fact.local == "::ffff:10.0.2.1");
  CHECK(fact.remote == "::ffff:10.0.3.2");
  CHECK(only(newest + "fe80::1, remote GID ::ffff:10.0.3.2").cause == Cause::kGidDiff);
  CHECK(only(newest + "fe80::1, remote GID fe80::2").cause == Cause::kGidLinkLocal);
  CHECK(only(newest + "::, remote GID ::ffff:10.0.3.2").cause == Cause::kGidWrong);
  CHECK(only(newest + "::, remote GID ::ffff:10.0.3.2").sure == Sure::kFollows);
  // The peer's slot is empty: the errno is all that is sure here.
  CHECK(only(newest + "::ffff:10.0.2.1, remote GID ::").cause == Cause::kQp110);
}

TEST_CASE("a QP's line that breaks off", "[nccl-text]") {
  CHECK(only("Call to ibv_modify_qp failed with 110 Connection ti").cause == Cause::kQp110);
  CHECK(only("Call to ibv_modify_qp failed with 11").cause == Cause::kQpErrno);
}

TEST_CASE("a completion that failed, as each release tells it", "[nccl-text]") {
  auto fact = only(
      "NET/IB : Got completion from peer 10.0.0.2<41> with error 12, opcode 1, len 0, "
      "vendor err 129 (Send) localGid fe80::1 remoteGids fe80::2");
  CHECK(fact.cause == Cause::kWc12);
  CHECK(fact.peer == "10.0.0.2<41>");
  CHECK(fact.dev.empty());
  fact = only(
      "NET/IB: Got completion from peer 10.0.0.2<41> with status=12 opcode=0 len=0 vendor "
      "err 129 (Recv) localGid fe80::1 remoteGidsfe80::2 hca mlx5_4");
  CHECK(fact.cause == Cause::kWc12);
  CHECK(fact.dev == "mlx5_4");
  CHECK(fact.local == "fe80::1");
  CHECK(fact.remote == "fe80::2");
  fact = only(
      "NET/IB: Got completion from peer 10.0.0.2<41> with status=IBV_WC_REM_ACCESS_ERR(10) "
      "opcode=IBV_WC_SEND(0) vendor_err=136  localGid a remoteGidsb hca mlx5_4");
  CHECK(fact.cause == Cause::kWc10);
  CHECK(fact.status == 10);
  fact = only(
      "NET/IB: Got completion from peer 10.0.0.2<41> with status=5 opcode=0 len=0 vendor err "
      "249 (Recv) hca mlx5_4");
  CHECK(fact.what == What::kEcho);
}

TEST_CASE("what has nothing to do with the network", "[nccl-text]") {
  auto fact = only("Duplicate GPU detected : rank 3 and rank 5 both on CUDA device 1a0");
  CHECK(fact.cause == Cause::kDupGpu);
  CHECK(fact.detail == "Duplicate GPU detected : rank 3 and rank 5 both on CUDA device 1a0");
  fact = only(
      "Error while creating shared memory segment /dev/shm/nccl-a1 (size 9637888), error: No space "
      "left on device (28)");
  CHECK(fact.cause == Cause::kLimShm);
  CHECK(fact.error == ENOSPC);
  fact = only(
      "Error while attaching to shared memory segment /dev/shm/nccl-a1 (size 0), error: No such "
      "file or directory (2)");
  CHECK(fact.cause == Cause::kIncShm);
  CHECK(fact.sure == Sure::kFollows);
  CHECK(only("Cuda failure 2 'out of memory'").cause == Cause::kCudaFail);
  CHECK(only("Cuda failure 'out of memory'").cause == Cause::kCudaFail);
  CHECK(only("Cuda failure 4 'driver shutting down'").what == What::kEcho);
  CHECK(only("Bootstrap Root : rank 3 of 8 ranks has already checked in").cause ==
        Cause::kIncRanks);
  fact = only(
      "NET/IB : req 0/1 tag 0 peer 10.0.0.2<41> collective mismatch error, local size 372480 "
      "remote "
      "size 49152");
  CHECK(fact.cause == Cause::kIncColl);
  CHECK(fact.peer == "10.0.0.2<41>");
  CHECK(only("socketTryAccept: Accept failed: Too many open files").cause == Cause::kLimNoFile);
}

TEST_CASE("a bootstrap message of another size names no cause", "[nccl-text]") {
  const auto fact = only("Message truncated : received 32 bytes instead of 4");
  CHECK_FALSE(fact.cause.has_value());
  CHECK(fact.detail.starts_with("ranks are at different steps of NCCL's bootstrap"));
}

TEST_CASE("NVLink SHARP, by where NCCL tells of CUDA, and where it does without", "[nccl-text]") {
  const auto all =
      facts_of("node1:1:2 [0] transport/nvls.cc:223 NCCL WARN Cuda failure 1 'invalid argument'");
  REQUIRE(all.size() == 1);
  CHECK(all[0].cause == Cause::kGpuNvls);
  const std::string bind =
      "Failed to bind NVLink SHARP (NVLS) Multicast memory of size 2097152 : CUDA error 401 'no'.";
  CHECK(only(bind).cause == Cause::kGpuNvls);
  CHECK(facts_of("node1:1:2 [0] NCCL WARN " + bind + " Proceeding without NVLS support.").empty());
}

TEST_CASE("a line that was copied without what stands before", "[nccl-text]") {
  const auto all = facts_of("Call to ibv_modify_qp failed with error Connection timed out");
  REQUIRE(all.size() == 1);
  CHECK(all[0].cause == Cause::kQp110);
  CHECK(all[0].writer.host.empty());
}

TEST_CASE("NCCL's last error in an exception of PyTorch's", "[nccl-text]") {
  const auto all = facts_of(
      "[rank2]: ncclSystemError: System call (e.g. socket, malloc) failed.\n[rank2]: Last error:\n"
      "[rank2]: Bootstrap : no socket interface found\n[rank2]: Last error:\nEpoch 2\n");
  REQUIRE(all.size() == 1);
  CHECK(all[0].cause == Cause::kDevOob);
  CHECK(all[0].writer.rank == 2);
}

TEST_CASE("memory that was not there", "[nccl-text]") {
  auto fact = only("Call to ibv_create_cq failed with error Cannot allocate memory");
  CHECK(fact.cause == Cause::kCq12);
  CHECK(fact.sure == Sure::kSaid);
  CHECK(only("Call to ibv_reg_mr_iova2 failed with error Unknown error -12").cause == Cause::kMr12);
  fact = only("Call to ibv_create_qp failed with error Cannot allocate memory");
  CHECK(fact.cause == Cause::kLimMemlock);
  CHECK(fact.sure == Sure::kFollows);
  CHECK(only("Call to ibv_reg_mr failed with error Bad address").cause == Cause::kMr14);
  CHECK(only("Call to ibv_reg_dmabuf_mr failed with error Invalid argument").cause ==
        Cause::kGdrRegFail);
}

TEST_CASE("what ports and HCAs tell of by themselves", "[nccl-text]") {
  auto fact = only("NET/IB : mlx5_1:1 Got async error event: port error");
  CHECK(fact.what == What::kSign);
  CHECK(fact.cause == Cause::kAsyncPort);
  CHECK(fact.dev == "mlx5_1:1");
  CHECK(only("NET/IB : mlx5_1:1 Got non-fatal async event: port error(10)").cause ==
        Cause::kAsyncPort);
  CHECK(only("NET/IB : mlx5_1:1 async fatal event: local catastrophic error").cause ==
        Cause::kAsyncFatal);
  CHECK(facts_of("n:1:1 [0] NCCL INFO NET/IB : mlx5_1:1 Got non-fatal async event: port active(9)")
            .empty());
}

TEST_CASE("sockets", "[nccl-text]") {
  auto fact = only("socketStartConnect: Connect to 127.0.0.1<5> failed : Connection refused");
  CHECK(fact.cause == Cause::kDevOob);
  CHECK(fact.error == 111);
  CHECK(fact.peer == "127.0.0.1<5>");
  CHECK(only("socketPollConnect: connect to 10.0.0.1<5> failed : No route to host").error == 113);
  fact = only("socketProgress: Connection closed by remote peer node2<5>", "INFO");
  CHECK(fact.what == What::kEcho);
  CHECK(fact.peer == "node2<5>");
}

TEST_CASE("what NCCL prints besides, and what others print, is nothing of this", "[nccl-text]") {
  CHECK(facts_of("n:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/IPC").empty());
  CHECK(facts_of("ibv_modify_qp failed with error Connection timed out").empty());
  CHECK(facts_of("").empty());
}

TEST_CASE("where on the PCI bus an HCA is", "[nccl-text]") {
  for (const std::string end : {"1", "1 oooRqSize=0"}) {
    const auto fact = only(
        "NET/IB: [2] mlx5_2:uverbs2:1/RoCE provider=Mlx5 speed=400000 context=0x1 "
        "pciPath=/sys/devices/pci0000:40/0000:40:01.1/0000:41:00.0 ar=" +
            end,
        "INFO");
    CHECK(fact.what == What::kHcaPath);
    CHECK(fact.dev == "mlx5_2:1");
    CHECK(fact.pci == "0000:41:00.0");
  }
}

TEST_CASE("what people copy without NCCL's words before it", "[nccl-text]") {
  auto all = facts_of(
      "[rank3]: Error while attaching to shared memory segment /dev/shm/nccl-a1 (size 0), error: "
      "No such file or directory (2)\n"
      "ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_0:1");
  REQUIRE(all.size() == 2);
  CHECK(all[0].writer.rank == 3);
  CHECK(all[0].cause == Cause::kIncShm);
  CHECK(all[1].cause == Cause::kQp110);
  CHECK(all[1].dev == "mlx5_0:1");
  CHECK(facts_of("ibv_devices failed to start").empty());
}

TEST_CASE("PyTorch's exception tells of a CUDA call", "[nccl-text]") {
  const auto all = facts_of("RuntimeError: NCCL error in: x.cpp:260, unhandled cuda error");
  REQUIRE(all.size() == 1);
  CHECK(all[0].cause == Cause::kCudaFail);
  CHECK(all[0].sure == Sure::kFollows);
}

TEST_CASE("words of releases before 2.10", "[nccl-text]") {
  CHECK(
      only("Mismatched collective detected, please check your collective calls at and around rank "
           "3. You can use NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=COLL to see the collective logs")
          .cause == Cause::kIncColl);
  CHECK(only("NET/IB : collective mismatch error local size 8 remote 16 addr 7f00 rkey 1 seq 2/3")
            .cause == Cause::kIncColl);
  CHECK(only("NET/Socket : message truncated : receiving 16 bytes instead of 8").cause ==
        Cause::kIncColl);
  auto fact = only(
      "Your program may be hanging, this may be caused by a collective mismatch around rank 3. "
      "Please check your collective calls at and around this rank. You can use NCCL_DEBUG=INFO and "
      "NCCL_DEBUG_SUBSYS=COLL to see the collective logs");
  CHECK(fact.what == What::kEcho);  // a suspicion, and no more
  CHECK(fact.detail == "a collective takes so long that NCCL suspects another one in some rank");
  CHECK(only("Net : Connection closed by remote peer").what == What::kEcho);
  CHECK(only("Error : connecting to address with family 0 is neither AF_INET(2) nor AF_INET6(10)")
            .detail.starts_with("the address that a peer gave is none"));
  fact = only("Connect to 10.0.0.2<5000> failed : No route to host");
  CHECK(fact.cause == Cause::kOobBlocked);
  CHECK(fact.error == EHOSTUNREACH);
  for (const char* const inner : {"172.17.0.2", "127.0.0.1", "fe80::1%ip6tnl0", "169.254.3.4"})
    CHECK(only(std::string("Connect to ") + inner + "<5000> failed : Connection timed out").cause ==
          Cause::kDevOob);
  fact =
      only("socketPollConnect: connect returned No route to host, exceeded error retry count (35)");
  CHECK(fact.cause == Cause::kOobBlocked);
  CHECK(fact.error == EHOSTUNREACH);
  CHECK(only("socketPollConnect poll() returned 1, no POLLOUT events").cause == Cause::kOobBlocked);
  CHECK(only("Net : No interface found in the same subnet as remote address 143.20.11.7<1778>")
            .cause == Cause::kDevOob);
  // Without NCCL's own mark it may be any program's.
  CHECK(facts_of("Connect to db failed : timeout").empty());
}

TEST_CASE("a request over libfabric that failed", "[nccl-text]") {
  const auto fact = only(
      "NET/OFI Request 0x7f45 completed with error. RC: 103. Error: 4126 (Unresponsive receiver "
      "(reachable by EFA device but handshake failed) My EFA addr: fi_addr_efa://[fe80::1]:0:7). "
      "Completed length: 0, Request: { dev: 1, state: CREATED, direction: SEND }");
  CHECK(fact.what == What::kFailure);
  CHECK(fact.cause == Cause::kWcStatus);
  CHECK(fact.error == 103);
  CHECK(fact.detail ==
        "NET/OFI RC: 103. Error: 4126 (Unresponsive receiver (reachable by EFA device but "
        "handshake failed) My EFA addr: fi_addr_efa://[fe80::1]:0:7)");
  CHECK(facts_of("h:1:2 [0] NCCL INFO NET/OFI Selected Provider is efa (found 4 nics)").empty());
}
