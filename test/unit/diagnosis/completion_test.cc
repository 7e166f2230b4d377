// Failed completions: by status, by whether the QP ever worked, and as a consequence.
#include "diagnosis/completion.h"

#include "diagnosis/async.h"
#include "diagnosis/catalogue.h"
#include "diagnosis/pair.h"
#include "support/catch.h"

using namespace nnd::diagnosis;

namespace {

FailedCompletion failed(int status, std::int64_t age_us = 31000) {
  return {"mlx5_1:1", "10.0.1.2", "10.0.1.9", 753, status, "NAME", 129, 96, age_us};
}

}  // namespace

TEST_CASE("a completion by its status") {
  struct Row {
    int status;
    Cause cause;
  };
  const auto row = GENERATE(Row{1, Cause::kWc1}, Row{2, Cause::kWc2}, Row{4, Cause::kWc4},
                            Row{5, Cause::kWc5}, Row{9, Cause::kWc9}, Row{10, Cause::kWc10},
                            Row{11, Cause::kWc11}, Row{12, Cause::kWc12}, Row{13, Cause::kWc13},
                            Row{21, Cause::kWc21}, Row{20, Cause::kWcStatus});
  const Diagnosis out = diagnose(failed(row.status));
  CHECK(out.cause == row.cause);
  CHECK(out.remedy == explain(row.cause).remedy);
  CHECK(out.sentence == "mlx5_1:1 10.0.1.2: QP 753 towards 10.0.1.9 failed with status " +
                            std::to_string(row.status) +
                            " NAME, vendor error 129 (0x81); it had worked: 96 work requests "
                            "completed, the last 31 ms ago.");
}

TEST_CASE("never worked is another fault than worked, then died") {
  const Diagnosis never = diagnose(failed(12, -1));
  const Diagnosis died = diagnose(failed(12));
  CHECK(never.cause == Cause::kWc12);
  CHECK(never.sentence.find("no work request ever completed") != std::string::npos);
  CHECK(never.remedy.find("the path never existed") != std::string::npos);
  CHECK(died.remedy.find("flapped") != std::string::npos);
}

TEST_CASE("a flush has the cause of the error before it") {
  const Diagnosis first = diagnose(failed(12));
  const Diagnosis flush = diagnose(failed(5), &first);
  CHECK(flush.cause == Cause::kWc12);
  CHECK(flush.remedy == first.remedy);
  CHECK(flush.sentence.find("status 5") != std::string::npos);
  // Another error is a failure of its own.
  CHECK(diagnose(failed(10), &first).cause == Cause::kWc10);
}

TEST_CASE("what the pair's rules said explains some completions") {
  const Diagnosis rail = diagnose(
      UnlikeSubnets{{"mlx5_1:1"}, "10.0.1.2/24", "10.0.4.9", "ens2", Reachability::kNoRoute});
  CHECK(diagnose(failed(12, -1), &rail).cause == Cause::kSubRail);
  CHECK(diagnose(failed(12), &rail).cause == Cause::kWc12);  // it had worked
  CHECK(diagnose(failed(4, -1), &rail).cause == Cause::kWc4);
  const Diagnosis mtu = diagnose(UnlikeMtu{"mlx5_1:1", 4096, 1024});
  CHECK(diagnose(failed(9), &mtu).cause == Cause::kMtuDiff);
  CHECK(diagnose(failed(12, -1), &mtu).cause == Cause::kWc12);
}

TEST_CASE("status 12 is told apart by what is known of port, address, peer and time") {
  FailedCompletion seen = failed(12);
  seen.gid_gone = true;
  CHECK(diagnose(seen).cause == Cause::kGidChange);
  seen.gid_gone = false;
  seen.gid_went_ago_sec = 0.03;
  CHECK(diagnose(seen).cause == Cause::kGidChange);
  CHECK(diagnose(seen).sentence.ends_with(
      "the address that it sends from left the GID table 30 ms before, and is there again."));
  seen.gid_went_ago_sec = 300;  // another story
  CHECK(diagnose(seen).cause == Cause::kWc12);
  seen.gid_gone = true;
  seen.status = 5;  // no error came before it
  CHECK(diagnose(seen).cause == Cause::kGidChange);
  CHECK(diagnose(failed(4)).cause == Cause::kWc4);
  seen.status = 4;  // no matter of addresses
  CHECK(diagnose(seen).cause == Cause::kWc4);

  seen = failed(12);
  seen.port_down = true;
  CHECK(diagnose(seen).cause == Cause::kAsyncPort);
  CHECK(diagnose(seen).sentence.find("the port is down") != std::string::npos);
  seen = failed(12);
  seen.budget_sec = 30;
  seen.down_ago_sec = 29;  // it retried since then
  CHECK(diagnose(seen).cause == Cause::kAsyncPort);
  seen.down_ago_sec = 300;  // another story
  CHECK(diagnose(seen).cause == Cause::kWc12);

  seen = failed(12);
  seen.peer = FailedCompletion::Peer::kEnded;
  const Diagnosis ended = diagnose(seen);
  CHECK(ended.cause == Cause::kWc12);
  CHECK(ended.sentence.find("the peer's process has ended") != std::string::npos);
  CHECK(ended.remedy.find("that rank's own output") != std::string::npos);
  seen.peer = FailedCompletion::Peer::kThere;
  CHECK(diagnose(seen).remedy == explain(Cause::kWc12).remedy);

  seen = failed(12);
  seen.budget_sec = 0.27;
  CHECK(diagnose(seen).remedy.starts_with("The HCA gave up after 270 ms"));
  seen.budget_sec = 30;
  CHECK(diagnose(seen).remedy == explain(Cause::kWc12).remedy);
}

TEST_CASE("a port that went down is why requests fail on it, whatever status they fail with") {
  const int status = GENERATE(2, 5, 12, 21);
  CAPTURE(status);
  FailedCompletion seen = failed(status);
  seen.port_down = true;
  seen.down_ago_sec = 0.046;
  Diagnosis out = diagnose(seen);
  CHECK(out.cause == Cause::kAsyncPort);
  CHECK(out.remedy == explain(Cause::kAsyncPort).remedy);
  CHECK(out.sentence.ends_with("; the port is down, since 46 ms."));
  // It took its addresses with it.
  seen.gid_gone = true;
  CHECK(diagnose(seen).cause == Cause::kAsyncPort);
  seen.gid_gone = seen.port_down = false;
  out = diagnose(seen);
  CHECK(out.cause == Cause::kAsyncPort);
  CHECK(out.sentence.ends_with("; the port went down 46 ms before."));
  seen.down_ago_sec = 300;  // another story
  CHECK(diagnose(seen).cause != Cause::kAsyncPort);
}

TEST_CASE("a port that went down does not deny access to memory") {
  FailedCompletion seen = failed(GENERATE(1, 4, 10, 13));
  seen.port_down = true;
  CHECK(diagnose(seen).cause != Cause::kAsyncPort);
}

TEST_CASE("an IOMMU that translates explains that GPU memory is out of reach") {
  FailedCompletion seen = failed(4);
  seen.translating = "DMA-FQ";
  CHECK(diagnose(seen).cause == Cause::kGdrAcs);
  CHECK(diagnose(seen).remedy == explain(Cause::kGdrAcs).remedy);
  seen.status = 12;
  CHECK(diagnose(seen).cause == Cause::kWc12);
}

TEST_CASE("a failed completion has the history of its connection") {
  FailedCompletion seen = failed(12);
  seen.conn_sec = 11520;
  seen.conn_bytes = 1'234'000'000'000;
  CHECK(diagnose(seen).sentence.find("its connection moved 1.2 TB in 3 h 12 min") !=
        std::string::npos);
}

TEST_CASE("a flush names the first failure of the process") {
  FailedCompletion seen = failed(5);
  seen.first_failure = 3;
  seen.first_cause = Cause::kWc4;
  CHECK(diagnose(seen).cause == Cause::kWc5);
  CHECK(diagnose(seen).sentence.find("first failure of this process is number 3, WC-4") !=
        std::string::npos);
  CHECK(diagnose(failed(5)).sentence.find("first failure") == std::string::npos);
}

TEST_CASE("a GID table that changes harms those whose address went") {
  DeviceReport seen{.kind = DeviceReport::Kind::kGidChange, .place = "mlx5_0:1", .words = ""};
  CHECK_FALSE(harms(seen));
  seen.connections = 2;
  seen.peers = {"10.0.1.9"};
  CHECK_FALSE(harms(seen));
  seen.gone = {"10.0.1.2 at index 3"};
  CHECK(harms(seen));
  CHECK(diagnose(seen).sentence ==
        "The GID table of mlx5_0:1 changed: 10.0.1.2 at index 3 is not there any more, and QPs "
        "that were made with it will fail; 2 connections use it (towards 10.0.1.9).");
}

TEST_CASE("what a device reports on its own") {
  using Kind = DeviceReport::Kind;
  CHECK(diagnose(DeviceReport{Kind::kPortDown, "mlx5_0:1", ""}).sentence == "mlx5_0:1 went down.");
  CHECK(diagnose(DeviceReport{Kind::kPortDown, "mlx5_0:1", ""}).cause == Cause::kAsyncPort);
  CHECK(diagnose(DeviceReport{Kind::kGidChange, "mlx5_0:1", ""}).cause == Cause::kGidChange);
  const Diagnosis fatal = diagnose(DeviceReport{Kind::kFatal, "mlx5_0", "device fatal"});
  CHECK(fatal.cause == Cause::kAsyncFatal);
  CHECK(fatal.sentence == "mlx5_0 reported device fatal.");
}

TEST_CASE("status 12 says how the kernel has the way to the peer, and blames a shared subnet") {
  FailedCompletion seen = failed(12);
  seen.path = {"ens2", "10.0.1.9", "", 0, "failed"};
  const Diagnosis gone = diagnose(seen);
  CHECK(gone.cause == Cause::kWc12);
  CHECK(gone.sentence.ends_with("; neighbour 10.0.1.9 dev ens2: FAILED."));
  seen.path = {"ens2", "10.0.1.9", "", 0, "reachable", "10.0.1.0/24", {"ens2", "ens3"}, 0, 2};
  CHECK(diagnose(seen).cause == Cause::kWc12);  // it had worked
  seen.age_us = -1;
  CHECK(diagnose(seen).cause == Cause::kSubSame);
  seen.peer = FailedCompletion::Peer::kEnded;
  CHECK(diagnose(seen).cause == Cause::kWc12);
}
