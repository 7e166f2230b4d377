// What is said of a connection over which nothing moves.
#include "diagnosis/stall.h"

#include <set>

#include "diagnosis/catalogue.h"
#include "support/catch.h"

using namespace nnd::diagnosis;

namespace {

Stall stall(Wait wait) {
  Stall seen;
  seen.wait = wait;
  seen.sec = 15;
  seen.place = "mlx5_0:1";
  seen.peer = "10.0.0.9";
  seen.listener = "10.1.0.4:43211";
  seen.requests = 1;
  return seen;
}

}  // namespace

TEST_CASE("every wait has a name, a sentence with place and age, and a remedy of its own") {
  std::set<std::string_view> names;
  std::set<std::string> sentences;
  for (std::size_t i = 0; i < static_cast<std::size_t>(Wait::kCount); ++i) {
    const Wait wait = static_cast<Wait>(i);
    INFO(wait_name(wait));
    const Diagnosis out = diagnose(stall(wait));
    CHECK(out.cause == (being_made(wait) ? Cause::kHangConnect : Cause::kHangData));
    CHECK(out.sentence.starts_with("mlx5_0:1: "));
    CHECK(out.sentence.ends_with("."));
    if (wait != Wait::kSlow) CHECK(out.sentence.find("15 s") != std::string::npos);
    CHECK_FALSE(out.remedy.empty());
    names.insert(wait_name(wait));
    sentences.insert(out.sentence);
  }
  CHECK(names.size() == static_cast<std::size_t>(Wait::kCount));
  CHECK(sentences.size() == static_cast<std::size_t>(Wait::kCount));
}

TEST_CASE("a peer that has closed its TCP connection is said to be gone, or to have given up") {
  Stall seen = stall(Wait::kNothingCame);
  seen.peer_tcp = PeerTcp::kOpen;
  const Diagnosis open = diagnose(seen);
  CHECK(open.sentence.find("TCP") == std::string::npos);
  seen.peer_tcp = PeerTcp::kClosed;
  const Diagnosis closed = diagnose(seen);
  CHECK(closed.sentence.find("; the peer has closed its TCP connection: its process has ended, or "
                             "NCCL there gave up.") != std::string::npos);
  CHECK(closed.remedy.find("waits in vain") != std::string::npos);
  CHECK(closed.remedy != open.remedy);
}

TEST_CASE("what a program may do itself is nothing to warn of") {
  for (const Wait wait : {Wait::kNotAccepted, Wait::kNotDialled, Wait::kNotPolled, Wait::kIdle,
                          Wait::kNothingCame, Wait::kNoReceive, Wait::kHeldBack})
    CHECK(suspicion(wait) == Suspicion::kNone);
  for (const Wait wait : {Wait::kMetadata, Wait::kQps, Wait::kReady})
    CHECK(suspicion(wait) == Suspicion::kLater);
  for (const Wait wait :
       {Wait::kTcp, Wait::kModifyQp, Wait::kInCall, Wait::kStuckSend, Wait::kStuckFlush})
    CHECK(suspicion(wait) == Suspicion::kAtOnce);
}

TEST_CASE("a stuck send says when the HCA gives up, and what the port has counted") {
  Stall seen = stall(Wait::kStuckSend);
  seen.retry_sec = 30.1;
  seen.counters_sec = 40;
  CHECK(diagnose(seen).sentence ==
        "mlx5_0:1: 1 send towards 10.0.0.9 handed to the HCA, and for 15 s none completed; the HCA "
        "gives up about 30 s after its first try (status 12); within the last 40 s the port has "
        "counted no trouble.");
  seen.requests = 3;
  seen.retry_sec = 0;
  seen.counters = {{"local_ack_timeout_err", 7}, {"symbol_error", 2}};
  CHECK(diagnose(seen).sentence ==
        "mlx5_0:1: 3 sends towards 10.0.0.9 handed to the HCA, and for 15 s none completed; "
        "within the last 40 s the port has counted local_ack_timeout_err +7, symbol_error +2.");
}

TEST_CASE("what has become of this end's port and address is the cause of what needs them") {
  Stall seen = stall(Wait::kStuckSend);
  seen.gid_gone = true;
  const Diagnosis gone = diagnose(seen);
  CHECK(gone.cause == Cause::kGidChange);
  CHECK(gone.remedy == explain(Cause::kGidChange).remedy);
  CHECK(gone.sentence ==
        "mlx5_0:1: 1 send towards 10.0.0.9 handed to the HCA, and for 15 s none completed; the "
        "address that it sends from is not in the GID table any more.");
  seen = stall(Wait::kNothingCame);
  seen.port_down = true;
  const Diagnosis down = diagnose(seen);
  CHECK(down.cause == Cause::kAsyncPort);
  CHECK(down.sentence.ends_with("nothing came; the port is down."));
  for (const Wait wait : {Wait::kStuckSend, Wait::kNothingCame, Wait::kNoReceive})
    CHECK(needs_own_port(wait));
  for (const Wait wait : {Wait::kIdle, Wait::kHeldBack, Wait::kStuckFlush, Wait::kModifyQp})
    CHECK_FALSE(needs_own_port(wait));
}

TEST_CASE("a wait lists what its port told, and never that it has counted no trouble") {
  Stall seen = stall(Wait::kStuckSend);  // for 15 s
  seen.counters_sec = 20;
  seen.port_down = true;
  seen.down_ago_sec = 15.019;
  CHECK(diagnose(seen).cause == Cause::kAsyncPort);
  CHECK(diagnose(seen).sentence ==
        "mlx5_0:1: 1 send towards 10.0.0.9 handed to the HCA, and for 15 s none completed; the "
        "port went down 19 ms before that, and is down.");
  seen.port_down = false;
  seen.down_sec = 3;
  CHECK(diagnose(seen).cause == Cause::kAsyncPort);
  CHECK(diagnose(seen).sentence.ends_with("the port went down 19 ms before that, for 3.0 s."));
  seen.down_ago_sec = 8;
  CHECK(diagnose(seen).sentence.ends_with("the port went down 8.0 s ago, for 3.0 s."));
  seen.down_ago_sec = 900;  // another story
  CHECK(diagnose(seen).cause == Cause::kHangData);
  CHECK(diagnose(seen).sentence.ends_with("the port has counted no trouble."));
  // A receive also waits for a peer that is late: listed, and no more.
  seen = stall(Wait::kNothingCame);
  seen.down_ago_sec = 15.019;
  seen.down_sec = 3;
  CHECK(diagnose(seen).cause == Cause::kHangData);
  CHECK(diagnose(seen).sentence.ends_with("the port went down 19 ms before that, for 3.0 s."));
}

TEST_CASE("where the failure is known it is the cause, with its remedy") {
  Stall seen = stall(Wait::kModifyQp);
  seen.to = "RTR";
  seen.attempt = 3;
  const Diagnosis failure{Cause::kSubRail, "Another subnet.", "Set NCCL_CROSS_NIC=0."};
  const Diagnosis out = diagnose(seen, &failure);
  CHECK(out.cause == Cause::kSubRail);
  CHECK(out.remedy == failure.remedy);
  CHECK(out.sentence ==
        "mlx5_0:1: the connection towards 10.0.0.9 has waited 15 s: ibv_modify_qp to RTR, attempt "
        "3, has failed and NCCL repeats it. Another subnet.");
}
