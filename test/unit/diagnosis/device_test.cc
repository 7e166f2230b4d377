// What is odd about HCAs, nodes, pairs and variables: cause, sentence, and a remedy that names what
// it is about.
#include "diagnosis/device.h"

#include "diagnosis/environment.h"
#include "diagnosis/node.h"
#include "diagnosis/pair.h"
#include "support/catch.h"

using namespace nnd::diagnosis;

namespace {

// "CAUSE: sentence remedy", an empty remedy as "-".
std::string line(Diagnosis diagnosis) {
  if (diagnosis.remedy.empty()) diagnosis.remedy = "-";
  return text(diagnosis);
}

}  // namespace

TEST_CASE("an HCA that can't be used") {
  CHECK(line(diagnose(CannotOpen{"mlx5_5", 1, CannotOpen::Node::kCgroup, "uverbs5"})) ==
        "DEV-UNUSABLE: mlx5_5 is listed but can't be opened (Operation not permitted); the device "
        "cgroup keeps its device node from this process. Give the container "
        "/dev/infiniband/uverbs5, or exclude the device with NCCL_IB_HCA=^=mlx5_5.");
  CHECK(diagnose(CannotOpen{"mlx5_5", 13, CannotOpen::Node::kPermissions})
            .sentence.find("permissions") != std::string::npos);
  CHECK(diagnose(CannotOpen{"mlx5_5", 2, CannotOpen::Node::kMissing}).sentence.find("missing") !=
        std::string::npos);
  CHECK(diagnose(CannotOpen{"mlx5_5", 12}).sentence ==
        "mlx5_5 is listed but can't be opened (Cannot allocate memory).");
  CHECK(diagnose(NoneOpens{8, {"mlx5_0", 13}}).sentence.find("None of the 8 HCAs") == 0);
  CHECK(line(diagnose(NoDevicePath{"rxe0", 22203})) ==
        "DEV-NOPCI: rxe0 has no device path in sysfs, and NCCL 2.22 crashes on such a device. "
        "Exclude it with NCCL_IB_HCA=^=rxe0, or mount /sys, or use NCCL 2.24 or newer.");
  CHECK(diagnose(BeyondLimit{"mlx5_33", 32}).cause == Cause::kDevLimit);
}

TEST_CASE("what the policy's lists keep out is no management HCA") {
  CHECK(line(diagnose(DeniedByName{"mlx5_3"})) == "DEV-DENIED: mlx5_3 is denied by the policy. -");
  CHECK(diagnose(DeniedByName{"mlx5_3", true}).cause == Cause::kDevDenied);
  CHECK(diagnose(OutsideSubnets{"mlx5_3:1", "10.9.0.1"}).cause == Cause::kDevDenied);
  CHECK(diagnose(DefaultRoute{"mlx5_3:1", 25000, "eth0", 8}).cause == Cause::kDevMgmt);
}

TEST_CASE("a port by itself") {
  CHECK(diagnose(NoLid{"mlx5_0:1"}).cause == Cause::kIbNoSm);
  CHECK(diagnose(LinkNotUp{"mlx5_0:1", "Polling"}).sentence ==
        "mlx5_0:1 is ACTIVE, and its physical state is Polling: NCCL takes it.");
  CHECK(diagnose(BelowMinimumSpeed{"mlx5_0:1", 100000, 400000}).cause == Cause::kDevSlow);
  CHECK(line(diagnose(BadPkey{"mlx5_0:1", 0, 0x7fff, 1, 0x8001})) ==
        "PKEY: mlx5_0:1: the partition key at index 0 is 0x7fff, a limited member. NCCL_IB_PKEY=1 "
        "(a full member of 0x8001).");
  CHECK(line(diagnose(BadPkey{"mlx5_0:1", 2, 0})) ==
        "PKEY: mlx5_0:1: the partition key at index 2 is empty. Ask the subnet manager for full "
        "membership.");
  CHECK(diagnose(NoGpuDirect{"mlx5_0:1", "no module"}).sentence.find("through the host") !=
        std::string::npos);
  CHECK(diagnose(NoGpuDirect{"mlx5_0:1", "no", "DMA-BUF", "none"})
            .sentence.find("asks for GPUDirect by DMA-BUF, and there is none") !=
        std::string::npos);
}

TEST_CASE("GIDs: a forced index is the user's, another one NCCL's choice") {
  using Fault = PickedGid::Fault;
  struct Row {
    Fault fault;
    bool forced;
    Cause cause;
  };
  const auto row = GENERATE(
      Row{Fault::kEmpty, true, Cause::kGidWrong}, Row{Fault::kEmpty, false, Cause::kGidCont},
      Row{Fault::kLinkLocal, true, Cause::kGidWrong},
      Row{Fault::kLinkLocal, false, Cause::kGidLinkLocal},
      Row{Fault::kRoceV1, true, Cause::kGidWrong}, Row{Fault::kRoceV1, false, Cause::kGidV1});
  const GoodGid good{"::ffff:10.0.0.1", 3, false};
  const Diagnosis out =
      diagnose(PickedGid{row.fault, "mlx5_0:1", 0, "fe80::1", "why", row.forced, good});
  CHECK(out.cause == row.cause);
  CHECK(out.remedy.starts_with("Unset NCCL_IB_GID_INDEX") == row.forced);
  CHECK(out.remedy.find("::ffff:10.0.0.1") != std::string::npos);
  CHECK(diagnose(PickedGid{row.fault, "mlx5_0:1", 0, "fe80::1", "why", row.forced, {}}).remedy ==
        "Give the interface an IP address.");
}

TEST_CASE("an IPv6 fabric is told which family to ask for") {
  CHECK(diagnose(PickedGid{PickedGid::Fault::kLinkLocal,
                           "mlx5_0:1",
                           0,
                           "fe80::1",
                           "why",
                           false,
                           {"fd00::1", 3, true}})
            .remedy == "NCCL_IB_ADDR_FAMILY=AF_INET6 (there is fd00::1 at index 3).");
  CHECK(diagnose(NoGid{"mlx5_0:1", 255}).sentence == "mlx5_0:1 has no GID here (0 of 255).");
  CHECK(diagnose(UnreadableGid{"mlx5_0:1", "open failed"}).cause == Cause::kGidCont);
}

TEST_CASE("a remedy for a GID names what stands in its way, and what the release has") {
  const GoodGid good{"::ffff:10.0.0.1", 3, false};
  const auto remedy = [&good](const char* by, bool by_index) {
    return diagnose(PickedGid{PickedGid::Fault::kLinkLocal, "mlx5_0:1", 0, "fe80::1", "why", false,
                              good, by, by_index})
        .remedy;
  };
  CHECK(remedy("NCCL_IB_ADDR_FAMILY", false) ==
        "Unset NCCL_IB_ADDR_FAMILY: the RoCE v2 GID ::ffff:10.0.0.1 is at index 3 here.");
  CHECK(remedy("", true).starts_with("NCCL_IB_GID_INDEX=3 on every node"));
  const Diagnosis beyond = diagnose(UnreadableGid{
      "mlx5_0:1", "NCCL_IB_GID_INDEX=300 is no index of the table of 255, and NCCL fails",
      "NCCL_IB_GID_INDEX"});
  CHECK(beyond.cause == Cause::kGidWrong);
  CHECK(beyond.remedy == "Unset NCCL_IB_GID_INDEX.");
  const ForeignGid foreign{"mlx5_0:1", "ens1", "192.168.0.2", "10.200.0.0/16", good};
  CHECK(diagnose(foreign).remedy == "NCCL_IB_ADDR_RANGE=10.200.0.0/16 on every node.");
}

TEST_CASE("a device node that is kept from a bare host's user is no container's fault") {
  CHECK(diagnose(CannotOpen{"mlx5_5", 13, CannotOpen::Node::kPermissions, "uverbs5", true})
            .remedy.starts_with("Give the job's user access to /dev/infiniband/uverbs5"));
  CHECK(diagnose(NoneOpens{8, {"mlx5_0", 13, {}, "", true}}).remedy ==
        "Give the job's user access to /dev/infiniband.");
}

TEST_CASE("an HCA against its siblings") {
  Unlike unlike;
  unlike.fabric = 8;
  unlike.mbps = 25000;
  unlike.usual_mbps = 400000;
  unlike.default_route = "bond0";
  CHECK(diagnose(OddBond{"mlx5_bond_0", "bond0", {"eno1", "eno2"}, "", false, unlike}).sentence ==
        "mlx5_bond_0 is over the bond bond0 (eno1, eno2) and unlike the 8 plain HCAs: 25 Gbit/s "
        "where most have 400 Gbit/s, the default route. It is probably the storage or front-end "
        "bond.");
  CHECK(diagnose(OddBond{"mlx5_bond_0", "bond0", {"eno1"}, "eno1 is down", true}).sentence ==
        "mlx5_bond_0 is over the bond bond0 (eno1: eno1 is down); the policy denies bonds.");
  CHECK(diagnose(OutsideFabric{"mlx5_8:1", "eno1", unlike}).sentence ==
        "mlx5_8:1 is not one of the 8 compute HCAs: 25 Gbit/s where most have 400 Gbit/s, the "
        "default route. It is probably the front-end or management network's.");
  unlike.default_route.clear();
  unlike.subnet = "10.1.0.0/16";
  unlike.usual_subnet = "10.200.0.0/16";
  unlike.distance = "SYS";
  unlike.usual_distance = "PIX";
  CHECK(diagnose(OutsideFabric{"mlx5_8:1", "stor0", unlike}).sentence ==
        "mlx5_8:1 is not one of the 8 compute HCAs: 25 Gbit/s where most have 400 Gbit/s, subnet "
        "10.1.0.0/16 where the others are in 10.200.0.0/16, SYS to the nearest GPU where the "
        "others have PIX. It is probably the storage network's.");
  unlike.card = "mlx5_7:1";
  CHECK(unlike.kinds() == 4);
  CHECK(unlike.text().back() == "on one card with mlx5_7:1");
  unlike.card.clear();
  unlike.sure = false;
  unlike.bonding = Unlike::Bonding::kPlain;
  CHECK(unlike.kinds() == 4);
  CHECK(diagnose(OutsideFabric{"mlx5_8:1", "mgmt0", unlike})
            .sentence.starts_with("mlx5_8:1 may not be one of the 8 compute HCAs: no bond, as the "
                                  "others are, 25 Gbit/s"));
  CHECK(diagnose(OutsideFabric{"mlx5_8:1", "mgmt0", unlike})
            .sentence.ends_with("Whether it is meant can't be told from here."));
  CHECK(diagnose(OddLinkLayer{"mlx5_3:1", false, false, 8}).sentence ==
        "mlx5_3:1 is RoCE: 8 other ports are InfiniBand, and NCCL may pair them.");
  CHECK(diagnose(OddLinkLayer{"mlx5_3:1", true, false, 1, false}).sentence ==
        "mlx5_3:1 is InfiniBand: 1 other port is RoCE, and NCCL may pair them; which of them are "
        "meant can't be told from here.");
  CHECK(diagnose(OddLinkLayer{"mlx5_3:1", true, true}).sentence ==
        "mlx5_3:1 is InfiniBand: the policy asks for RoCE.");
  CHECK(diagnose(SlowerThanSiblings{"mlx5_3:1", 100000, 400000}).sentence ==
        "mlx5_3:1 runs at 100 Gbit/s, its siblings at 400 Gbit/s.");
  CHECK(diagnose(SlowPcie{"mlx5_3", 16, 8, 32, 16}).sentence ==
        "mlx5_3: its PCIe link is 16 GT/s x8 (at best 32 GT/s x16), its siblings' is faster.");
  CHECK(diagnose(SmallMtu{"mlx5_3:1", "ens3", 1024, 0, 4096}).remedy ==
        "Raise the MTU of ens3 and of the switch.");
  CHECK(diagnose(SmallMtu{"mlx5_3:1", "", 1024, 2048, 4096}).sentence ==
        "mlx5_3:1 has an MTU of 1024, the policy asks for 2048.");
  // A rail is missed by the whole job, and what to do until it is mended is the caller's.
  CHECK(diagnose(SlowerThanSiblings{"mlx5_3:1", 200000, 400000, true})
            .sentence.starts_with("mlx5_3:1 runs at 200 Gbit/s, its siblings at 400 Gbit/s: the "
                                  "node is a rail short"));
  CHECK(diagnose(SlowPcie{"mlx5_3", 32, 8, 32, 16, true}).sentence.find("a rail short") !=
        std::string::npos);
}

TEST_CASE("a rail that is down: by what it is known") {
  const std::string by_gpu =
      diagnose(MissingPort{"mlx5_4:1", "DOWN", "Polling", "0000:12:00.0", 1}).sentence;
  CHECK(
      by_gpu.starts_with("mlx5_4:1 is DOWN (physical state Polling), and it is the rail of GPU "
                         "0000:12:00.0, where other GPUs have theirs: the node is a rail short"));
  CHECK(
      diagnose(MissingPort{"mlx5_4:1", "DOWN", "Polling", "", 0, "10.0.4.1/24", 7})
          .sentence.starts_with("mlx5_4:1 is DOWN (physical state Polling) although its interface "
                                "has the address 10.0.4.1/24, and NCCL skips it: 7 ports alike are "
                                "left, the node is a rail short"));
  CHECK(
      diagnose(MissingPort{"mlx5_4:1", "DOWN", "Polling", "", 0, "", 7, 8})
          .sentence.starts_with("mlx5_4:1 is DOWN (physical state Polling), and 7 ports alike are "
                                "left for 8 GPUs: the node is a rail short"));
}

TEST_CASE("functions of a card: one sentence for all, and whose address is here") {
  using Meant = VirtualBesidePhysical::Meant;
  const auto of = [](Meant meant, std::vector<std::string> functions,
                     std::vector<std::string> physical) {
    const Diagnosis out =
        diagnose(VirtualBesidePhysical{meant, std::move(functions), std::move(physical)});
    CHECK(out.cause == Cause::kDevMerge);
    CHECK(out.remedy.empty());  // a list, which the caller makes
    return out.sentence;
  };
  CHECK(of(Meant::kNotKnown, {"mlx5_8"}, {"mlx5_0"}) ==
        "mlx5_8 is a virtual function of mlx5_0, and both are used: NCCL may fuse them.");
  CHECK(of(Meant::kPhysical, {"mlx5_8", "mlx5_9"}, {"mlx5_0", "mlx5_1"}) ==
        "mlx5_8, mlx5_9 are virtual functions of mlx5_0, mlx5_1 without an address here, and NCCL "
        "would use them beside those.");
  CHECK(of(Meant::kVirtual, {"mlx5_8"}, {"mlx5_0"}) ==
        "mlx5_0 has no address in this network namespace, and NCCL would use it beside its virtual "
        "function, mlx5_8, which has.");
}

TEST_CASE("GPUDirect and a module that this NCCL does not see") {
  CHECK(diagnose(NoGpuDirect{"mlx5_0:1", "no"}).remedy.find("Load nvidia_peermem") == 0);
  CHECK(diagnose(NoGpuDirect{"mlx5_0:1", "no", "", "", true}).remedy.find("NCCL 2.23 or newer") !=
        std::string::npos);
}

TEST_CASE("a node as a whole") {
  CHECK(diagnose(TooFewPorts{1, 8}).sentence ==
        "1 usable HCA port remains, the policy asks for 8.");
  CHECK(diagnose(TooFewPorts{7, 8}).sentence ==
        "7 usable HCA ports remain, the policy asks for 8.");
  CHECK(diagnose(OtherKindOnly{32}).sentence.starts_with("The 32 HCAs here have neither"));
  CHECK(diagnose(NoneLeft{}).cause == Cause::kDevFallback);
  CHECK(diagnose(NoneUsable{8, 8, 8}).sentence.find("None of the 8 HCAs") == 0);
  CHECK(diagnose(NoneUsable{0, 8, 8}).sentence.find("sysfs shows 8 HCAs") == 0);
  CHECK(diagnose(NoneUsable{0, 0, 1}).sentence.find("1 RDMA-capable function is") == 0);
  CHECK(diagnose(LittleLockedMemory{65536}).cause == Cause::kLimMemlock);
  CHECK(diagnose(TooFewFiles{256, 1024}).remedy == "ulimit -n 1024");
}

TEST_CASE("two ends") {
  const auto ends = [](Reachability reach) {
    return diagnose(UnlikeSubnets{{"mlx5_1:1"}, "10.0.1.2/24", "10.0.4.9", "ens2", reach});
  };
  CHECK(
      ends(Reachability::kNoRoute).sentence ==
      "local mlx5_1:1 10.0.1.2/24, remote 10.0.4.9: another subnet, and no route leaves by ens2.");
  CHECK(ends(Reachability::kNoRoute).cause == Cause::kSubRail);
  CHECK(ends(Reachability::kRouted).cause == Cause::kSubRail);
  CHECK(ends(Reachability::kOtherPrefix).sentence.find("another InfiniBand subnet prefix") !=
        std::string::npos);
  UnlikeSubnets within{{"mlx5_0:1"}, "10.0.1.1/24", "10.9.9.1", "ens1", Reachability::kNoRoute};
  within.peer = {"mlx5_bond_0:1", "bond0", {"eno1", "eno2"}};
  within.peer_subnet = "10.9.9.0/24";
  CHECK(diagnose(within).cause == Cause::kSubIntra);
  CHECK(diagnose(within).sentence ==
        "local mlx5_0:1 10.0.1.1/24, remote this node's own mlx5_bond_0:1 (bond0 over eno1, eno2) "
        "10.9.9.1 in 10.9.9.0/24: another subnet, and no route leaves by ens1.");
  CHECK(diagnose(within).remedy ==
        "Leave the bond out on every node (NCCL_IB_HCA=^=mlx5_bond_0), or route between the two "
        "subnets.");
  within.peer.bond.clear();
  CHECK(diagnose(within).remedy == remedy_of(Cause::kSubIntra));
  CHECK(ends(Reachability::kDifferentFamily).cause == Cause::kGidDiff);
  CHECK(diagnose(UnlikeRails{"mlx5_1:1", 1, 4}).sentence ==
        "mlx5_1:1 is on rail 1, the peer on rail 4.");
  CHECK(diagnose(UnlikeLinkLayers{"mlx5_1:1", {1, 2}}).sentence ==
        "mlx5_1:1 is InfiniBand, the peer's port is Ethernet.");
  CHECK(diagnose(UnlikeMtu{"mlx5_1:1", 4096, 1024}).sentence.find("has a smaller one.") !=
        std::string::npos);
  CHECK(diagnose(UnlikeMtu{"mlx5_1:1", 1024, 4096}).sentence.find("has a larger one.") !=
        std::string::npos);
}

TEST_CASE("mistakes in variables") {
  using Entry = HcaEntryFault;
  CHECK(diagnose(Entry{Entry::Kind::kMatchesMore, "mlx5_1", {"mlx5_10"}}).sentence ==
        "\"mlx5_1\" also matches mlx5_10: names are prefixes.");
  CHECK(diagnose(Entry{Entry::Kind::kMatchesMore, "mlx5_1", {"mlx5_10"}}).remedy ==
        "Start the list with = (^= to leave out), and write whole names.");
  CHECK(diagnose(Entry{Entry::Kind::kSigns, "^a", {}, {"NCCL_IB_HCA=^=a"}}).remedy ==
        "Write NCCL_IB_HCA=^=a.");
  CHECK(diagnose(Entry{Entry::Kind::kSigns, "^a", {}, {"NCCL_IB_HCA==b", "NCCL_IB_HCA=^=a"}})
            .remedy == "Write NCCL_IB_HCA==b, or NCCL_IB_HCA=^=a for all but that.");
  CHECK(diagnose(Entry{Entry::Kind::kMatchesNothing, "ib0", {}, {}, {"mlx5_0", "mlx5_1"}}).remedy ==
        "The HCAs here are mlx5_0, mlx5_1.");
  CHECK(diagnose(Entry{Entry::Kind::kSigns, "^"}).remedy == "Write them once, at the start.");
  CHECK(diagnose(Entry{Entry::Kind::kSpace, " a"}).cause == Cause::kDevPrefix);
  CHECK(diagnose(Entry{Entry::Kind::kMatchesNothing, "ib0"}).cause == Cause::kDevPrefix);
  CHECK(diagnose(BadGidIndex{"mlx5_0:1"}).sentence == "There is no GID at this index on mlx5_0:1.");
  using Retransmit = RetransmitFault;
  CHECK(diagnose(Retransmit{Retransmit::Kind::kRetryField, 10}).sentence ==
        "The field has three bits: 10 becomes 2 on mlx5.");
  CHECK(diagnose(Retransmit{Retransmit::Kind::kTimeoutField, 33}).sentence ==
        "The field has five bits: 33 becomes 1.");
  CHECK(diagnose(Retransmit{Retransmit::Kind::kShort, 0, 3.84}).sentence.find("3.8 s") !=
        std::string::npos);
  CHECK(diagnose(LongQpRetries{true, 59.5}).cause == Cause::kQpRetry);
  CHECK(diagnose(LongQpRetries{false, 183}).sentence.find("183 s") != std::string::npos);
  CHECK(diagnose(SocketInterface{SocketInterface::Kind::kForContainers, "docker0"}).cause ==
        Cause::kDevOob);
  CHECK(diagnose(RdmaTurnedOff{1}).sentence == "NCCL runs over TCP although this node has 1 HCA.");
  CHECK(diagnose(GpuDirectTurnedOff{}).cause == Cause::kGdrOff);
  CHECK(diagnose(MissingFromProcess{"NCCL_DEBUG"}).cause == Cause::kIncEnv);
  CHECK(diagnose(OverriddenFile{"/etc/nccl.conf", "4"}).cause == Cause::kEnvOverride);
}
