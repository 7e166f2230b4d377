// A QP that could not be made or moved: by errno, by what is known of the ends, and by what the
// pair's rules had said before.
#include "diagnosis/queue_pair.h"

#include <cerrno>
#include <vector>

#include "diagnosis/catalogue.h"
#include "diagnosis/memory.h"
#include "diagnosis/pair.h"
#include "support/catch.h"

using namespace nnd::diagnosis;

namespace {

FailedTransition to_rtr(int error, Reachability reach = Reachability::kUnknown) {
  FailedTransition seen;
  seen.place = "mlx5_1:1";
  seen.local = "10.0.1.2";
  seen.remote = "10.0.4.9";
  seen.qp = 30;
  seen.from = "INIT";
  seen.to = "RTR";
  seen.error = error;
  seen.dur_us = 1026000;
  seen.reach = reach;
  if (reach != Reachability::kUnknown) seen.why = "10.0.4.9 is outside 10.0.1.0/24";
  return seen;
}

bool says(const Diagnosis& diagnosis, const char* part) {
  return diagnosis.sentence.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a move to RTR by its errno") {
  struct Row {
    int error;
    Cause cause;
  };
  const auto row =
      GENERATE(Row{ETIMEDOUT, Cause::kQp110}, Row{EINVAL, Cause::kQp22}, Row{ENODEV, Cause::kQp19},
               Row{ENODATA, Cause::kQp61}, Row{ENETUNREACH, Cause::kQp101},
               Row{EHOSTUNREACH, Cause::kQp113}, Row{EPERM, Cause::kQp1}, Row{EACCES, Cause::kQp13},
               Row{ENOMEM, Cause::kQp12}, Row{EIO, Cause::kQpErrno});
  CAPTURE(row.error);
  const Diagnosis out = diagnose(to_rtr(row.error));
  CHECK(out.cause == row.cause);
  CHECK(out.remedy == explain(row.cause).remedy);
  CHECK(
      says(out, "mlx5_1:1 10.0.1.2: QP 30 could not go from INIT to RTR towards 10.0.4.9: errno "));
  CHECK(says(out, " after 1026 ms, attempt 1."));
}

TEST_CASE("a move to another state: an address is not the reason") {
  const auto error = GENERATE(ETIMEDOUT, ENODEV, EHOSTUNREACH);
  FailedTransition seen = to_rtr(error, Reachability::kNoRoute);
  seen.to = "RTS";
  CHECK(diagnose(seen).cause == Cause::kQpErrno);
  seen.error = EINVAL;
  CHECK(diagnose(seen).cause == Cause::kQp22);
  CHECK(diagnose(seen).remedy == remedy_of(Cause::kVerbsErrno));
}

TEST_CASE("what is known of the ends is the cause where it explains the errno") {
  struct Row {
    Reachability reach;
    int error;
    Cause cause;
  };
  const auto row = GENERATE(Row{Reachability::kNoRoute, ETIMEDOUT, Cause::kSubRail},
                            Row{Reachability::kNoRoute, 113, Cause::kSubRail},
                            Row{Reachability::kNoRoute, EINVAL, Cause::kQp22},
                            Row{Reachability::kNoRoute, ENODATA, Cause::kQp61},
                            Row{Reachability::kRouted, ETIMEDOUT, Cause::kSubRail},
                            Row{Reachability::kSame, 110, Cause::kQp110},
                            Row{Reachability::kDifferentFamily, EINVAL, Cause::kGidDiff},
                            Row{Reachability::kDifferentFamily, ETIMEDOUT, Cause::kGidDiff});
  CAPTURE(static_cast<int>(row.reach), row.error);
  const Diagnosis out = diagnose(to_rtr(row.error, row.reach));
  CHECK(out.cause == row.cause);
  const bool about_addresses = row.error != ENODATA;
  CHECK(says(out, "; 10.0.4.9 is outside 10.0.1.0/24.") == about_addresses);
}

TEST_CASE("a peer of the same node is its own cause, however it is reached") {
  for (const Reachability reach :
       {Reachability::kSame, Reachability::kNoRoute, Reachability::kRouted}) {
    FailedTransition seen = to_rtr(ETIMEDOUT, reach);
    seen.own = true;
    CHECK(diagnose(seen).cause == Cause::kSubIntra);
    seen.error = ENODATA;
    CHECK(diagnose(seen).cause == Cause::kQp61);
  }
}

TEST_CASE("the GIDs alone, and the link layers") {
  FailedTransition seen = to_rtr(EINVAL);
  seen.families_differ = true;
  CHECK(diagnose(seen).cause == Cause::kGidDiff);
  seen = to_rtr(ETIMEDOUT);
  seen.link_local = true;
  CHECK(diagnose(seen).cause == Cause::kQp110);
  CHECK(says(diagnose(seen), "the local GID is link-local"));
  seen.layers = {1, 2};
  CHECK(diagnose(seen).cause == Cause::kDevMixLl);
  CHECK(says(diagnose(seen),
             "the port here is InfiniBand, the one that the peer listens on "
             "Ethernet"));
  seen.layers = {1, 0};
  CHECK(diagnose(seen).cause == Cause::kQp110);
}

TEST_CASE("a number that is no QP's tells of a peer with fewer QPs") {
  FailedTransition seen = to_rtr(EINVAL);
  seen.remote_qp = 0xffffff;
  CHECK(diagnose(seen).cause == Cause::kQp22);
  seen.remote_qp = 0x1000000;
  CHECK(diagnose(seen).cause == Cause::kIncQps);
  CHECK(says(diagnose(seen), "16777216, which the peer gave for this QP, is no QP's number"));
  seen.error = ETIMEDOUT;
  CHECK(diagnose(seen).cause == Cause::kQp110);
}

TEST_CASE("what NCCL does next is said") {
  CHECK(what_nccl_does({}) == "NCCL gives up now.");
  CHECK(what_nccl_does({34, true, true}) ==
        "NCCL will try again 34 times, which takes a minute or more.");
  CHECK(what_nccl_does({2, false, false}) ==
        "NCCL will try again 2 times (versions before 2.24 give up now).");
}

TEST_CASE("a rule that the pair broke is the cause where it explains the errno") {
  const Diagnosis rail = diagnose(
      UnlikeSubnets{{"mlx5_1:1"}, "10.0.1.2/24", "10.0.4.9", "ens2", Reachability::kNoRoute});
  const Diagnosis family = diagnose(UnlikeRoceVersions{"mlx5_1:1", "RoCE v2", "RoCE v1"});
  const Diagnosis layers = diagnose(UnlikeLinkLayers{"mlx5_1:1", {1, 2}});
  const Diagnosis mtu = diagnose(UnlikeMtu{"mlx5_1:1", 4096, 1024});
  struct Row {
    const Diagnosis* broken;
    int error;
    Cause cause;
  };
  const std::vector<Row> rows = {
      Row{&rail, 110, Cause::kSubRail},   Row{&rail, 101, Cause::kSubRail},
      Row{&rail, 113, Cause::kSubRail},   Row{&rail, 22, Cause::kQp22},
      Row{&rail, 12, Cause::kQp12},       Row{&family, 22, Cause::kGidDiff},
      Row{&family, 110, Cause::kGidDiff}, Row{&family, 19, Cause::kGidDiff},
      Row{&family, 61, Cause::kQp61},     Row{&layers, 22, Cause::kDevMixLl},
      Row{&layers, 5, Cause::kDevMixLl},  Row{&mtu, 110, Cause::kQp110},
      Row{&mtu, 22, Cause::kQp22}};
  for (const Row& row : rows) {
    CAPTURE(row.error);
    const Diagnosis out = diagnose(to_rtr(row.error), row.broken);
    CHECK(out.cause == row.cause);
    // One failure has one advice, and its events say what it rests on.
    const bool explained = out.cause == row.broken->cause;
    CHECK((out.remedy == row.broken->remedy) == explained);
    CHECK(says(out, row.broken->evidence.c_str()) == explained);
    CHECK(says(out, "errno "));
  }
}

TEST_CASE("the rule and the errno see the same ends alike, and the rule knows whose they are") {
  const Diagnosis rule = diagnose(
      UnlikeSubnets{{"mlx5_1:1"}, "10.0.1.2/24", "10.0.4.9", "ens2", Reachability::kNoRoute});
  const Diagnosis failure = diagnose(to_rtr(ETIMEDOUT, Reachability::kNoRoute));
  CHECK(rule.cause == failure.cause);
  CHECK(failure.remedy.starts_with("Compare the two nodes"));
  CHECK(rule.remedy.starts_with("Compare ens2 (10.0.1.2/24) with the interface of the HCA"));
}

TEST_CASE("the way to the peer as the kernel had it is in the sentence") {
  FailedTransition seen = to_rtr(ETIMEDOUT, Reachability::kSame);
  seen.path = {"ens2", "10.0.4.9", "", 0, "failed"};
  Diagnosis out = diagnose(seen);
  CHECK(out.cause == Cause::kQp110);
  CHECK(says(out, "; neighbour 10.0.4.9 dev ens2: FAILED."));
  seen.path.neighbour = "none";
  CHECK(says(diagnose(seen), "; neighbour 10.0.4.9 dev ens2: no entry."));
  seen.path = {"ens2", "10.0.4.9", "10.0.1.1", 0, "incomplete"};
  CHECK(says(diagnose(seen), "; 10.0.4.9 via 10.0.1.1 dev ens2, neighbour 10.0.1.1: INCOMPLETE."));
  seen = to_rtr(ENETUNREACH);
  seen.path = {"ens2", "10.0.4.9", "", ENETUNREACH, ""};
  out = diagnose(seen);
  CHECK(out.cause == Cause::kQp101);
  CHECK(says(out, "; no route to 10.0.4.9 dev ens2: errno 101 (Network is unreachable)."));
}

TEST_CASE(
    "interfaces that share a subnet are the cause where Linux answers ARP for all, or for one") {
  FailedTransition seen = to_rtr(ETIMEDOUT, Reachability::kSame);
  seen.path = {"ens2", "10.0.1.9", "", 0, "reachable", "10.0.1.0/24", {"ens2", "ens3"}, 0, 2};
  const Diagnosis flux = diagnose(seen);
  CHECK(flux.cause == Cause::kSubSame);
  CHECK(flux.remedy == explain(Cause::kSubSame).remedy);
  CHECK(says(flux, "; ens2, ens3 are all in 10.0.1.0/24, with arp_ignore=0 on ens2; neighbour"));
  seen.path.arp_ignore = 1;
  CHECK(diagnose(seen).cause == Cause::kQp110);
  seen.path.rp_filter = 1;
  CHECK(says(diagnose(seen), "with rp_filter=1 on ens2"));
  seen.path.rp_filter = 2;
  seen.path.arp_ignore = 0;
  seen.path.neighbour = "failed";  // nobody answers for it, nor the wrong one
  CHECK(diagnose(seen).cause == Cause::kQp110);
  seen.path.neighbour = "";
  seen.path.sharing = {"ens2"};
  CHECK(diagnose(seen).cause == Cause::kQp110);
  seen.path.sharing = {"ens2", "ens3"};
  seen.path.arp_ignore = -1;  // not known
  CHECK(diagnose(seen).cause == Cause::kQp110);
}

TEST_CASE("a port that is down is why a QP on it finds no way to the peer") {
  const int error = GENERATE(ETIMEDOUT, ENETUNREACH, EHOSTUNREACH, ENODEV, ENODATA, ENETDOWN);
  FailedTransition seen = to_rtr(error);
  seen.port_down = true;
  seen.down_ago_sec = 0.5;
  CHECK(diagnose(seen).cause == Cause::kAsyncPort);
  CHECK(diagnose(seen).sentence.ends_with("; the port is down, since 500 ms."));
  // What the pair's rules said comes first, and an attribute that doesn't fit is no matter of it.
  const Diagnosis rail = diagnose(
      UnlikeSubnets{{"mlx5_1:1"}, "10.0.1.2/24", "10.0.4.9", "ens2", Reachability::kNoRoute});
  if (about_reach(error)) CHECK(diagnose(seen, &rail).cause == Cause::kSubRail);
  seen.error = EINVAL;
  CHECK(diagnose(seen).cause == Cause::kQp22);
}

TEST_CASE("a QP that finds no partition key", "[diagnosis]") {
  FailedTransition seen;
  seen.place = "mlx5_0:1";
  seen.from = "RESET";
  seen.to = "INIT";
  seen.error = GENERATE(EINVAL, EPERM);
  seen.empty_pkey = GENERATE(-1, 1);
  const auto out = diagnose(seen);
  const bool told = seen.error == EINVAL && seen.empty_pkey == 1;
  CHECK((out.cause == Cause::kPkey) == told);
  CHECK(says(out, "the partition key at index 1 is empty") == told);
  CHECK((out.remedy.find("NCCL_IB_PKEY") != std::string::npos) == told);
}
