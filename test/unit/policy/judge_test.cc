#include "policy/judge.h"

#include <functional>

#include "made_node.h"
#include "support/catch.h"

using namespace nnd::policy;
using namespace nnd::policy::test;
namespace facts = nnd::facts;

using Strings = std::vector<std::string>;

TEST_CASE("healthy nodes break nothing") {
  struct Row {
    const char* name;
    std::function<MadeNode()> make;
  };
  const std::vector<Row> rows = {
      {"one subnet per rail", [] { return rails(); }},
      {"one subnet for all",
       [] {
         MadeNode made;
         for (int i = 0; i < 8; ++i)
           made.add_rail(fmt::format("mlx5_{}", i), fmt::format("10.200.0.{}/16", i + 1));
         return made;
       }},
      {"all bonds, the first with the default route",
       [] {
         MadeNode made;
         for (int i = 0; i < 4; ++i)
           made.add_bond(fmt::format("mlx5_bond_{}", i), fmt::format("10.200.{}.2/24", i), 200000);
         made.netdev_of(made.node.hcas[0]).default_route = true;
         return made;
       }},
      {"a single HCA with the default route",
       [] {
         MadeNode made = rails(1);
         made.node.network.devs[0].default_route = true;
         return made;
       }},
      {"a bond like its peers",
       [] {
         MadeNode made = rails();
         made.add_bond("mlx5_bond_0", "10.200.8.2/24");
         return made;
       }},
      {"IPv6 only, with NCCL told so",
       [] {
         MadeNode made;
         for (int i = 0; i < 4; ++i)
           made.add_rail(fmt::format("mlx5_{}", i), fmt::format("fd00:{}::2/64", i));
         return made;
       }},
      {"InfiniBand with several partitions",
       [] {
         MadeNode made;
         for (int i = 0; i < 8; ++i) made.add_ib(fmt::format("mlx5_{}", i));
         for (facts::Hca& hca : made.node.hcas) hca.ports[0].pkeys = {0xffff, 0x8001, 0x0002};
         return made;
       }},
      {"virtual functions only",
       [] {
         MadeNode made = rails();
         for (facts::Hca& hca : made.node.hcas) hca.physfn = "0000:99:00.0";
         return made;
       }},
      {"a port that is down and has no address: nobody meant to use it",
       [] {
         MadeNode made = rails();
         made.port("mlx5_7").gids.clear();
         made.port("mlx5_7").state = 1;
         made.port("mlx5_7").choice = facts::PortChoice::kNotActive;
         return made;
       }},
      {"the user turned InfiniBand off",
       [] {
         MadeNode made = rails();
         for (facts::Hca& hca : made.node.hcas)
           hca.ports[0].choice = facts::PortChoice::kIbDisabled;
         made.node.rdma_unwanted = true;
         return made;
       }},
      {"no RDMA hardware at all", [] { return MadeNode(); }},
      {"every card in a slower slot",
       [] {
         MadeNode made = rails();
         for (facts::Hca& hca : made.node.hcas) hca.pcie.current_gts = 16.0;
         return made;
       }},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const Judgement judgement = row.make().judge(Mode::kEnforce);
    CHECK(rules_of(judgement.verdicts) == Strings{});
    CHECK(judgement.refused.empty());
    CHECK_FALSE(judgement.network_refused.has_value());
  }
}

namespace {

struct RuleRow {
  const char* what;
  const char* verdict;  // "rule CAUSE"; empty: a near miss, nothing may be said
  bool refuses;         // in enforce mode: this HCA
  const char* device;
  std::function<void(MadeNode&)> change;
};

// Each row changes one fact of a node with eight rails; a row that breaks is followed by one that
// nearly does.
const std::vector<RuleRow>& roce_rows() {
  using facts::GidType;
  using facts::PickBasis;
  static const std::vector<RuleRow> kRows = {
      {"a slow bond", "hca.bond DEV-BOND", true, "mlx5_bond_0",
       [](MadeNode& made) { made.add_bond("mlx5_bond_0", "10.200.8.2/24", 25000); }},
      {"a bond on another network", "hca.bond DEV-BOND", true, "mlx5_bond_0",
       [](MadeNode& made) { made.add_bond("mlx5_bond_0", "10.1.0.2/16"); }},
      {"a bond with the default route", "hca.bond DEV-BOND", true, "mlx5_bond_0",
       [](MadeNode& made) {
         made.netdev_of(made.add_bond("mlx5_bond_0", "10.200.8.2/24")).default_route = true;
       }},
      {"a bond in the next subnet, as fast", "", false, "",
       [](MadeNode& made) { made.add_bond("mlx5_bond_0", "10.200.9.2/24"); }},
      {"a plain HCA with the default route", "hca.default_route DEV-MGMT", false, "mlx5_2",
       [](MadeNode& made) { made.netdev_of(made.hca("mlx5_2")).default_route = true; }},
      {"the default route by an interface of none of them", "", false, "",
       [](MadeNode& made) {
         facts::NetDev dev;
         dev.ifindex = 77;
         dev.name = "eth0";
         dev.default_route = true;
         made.node.network.devs.push_back(dev);
       }},
      {"a quarter of the speed", "hca.slow DEV-SLOW", false, "mlx5_3",
       [](MadeNode& made) { made.port("mlx5_3").speed_mbps = 100000; }},
      {"half of the speed", "hca.slow DEV-SLOW", false, "mlx5_3",
       [](MadeNode& made) { made.port("mlx5_3").speed_mbps = 200000; }},
      {"three quarters of the speed", "", false, "",
       [](MadeNode& made) { made.port("mlx5_3").speed_mbps = 300000; }},
      {"a PCIe link below the siblings'", "hca.pcie DEV-SLOW", false, "mlx5_4",
       [](MadeNode& made) { made.hca("mlx5_4").pcie.current_width = 8; }},
      {"a PCIe card of an older kind at its best", "", false, "",
       [](MadeNode& made) {
         made.hca("mlx5_4").pcie = {16.0, 16.0, 16, 16};
       }},
      {"a PCIe link that can't be read", "", false, "",
       [](MadeNode& made) {
         made.hca("mlx5_4").pcie = {0, 32.0, 0, 16};
       }},
      {"a smaller MTU", "hca.mtu MTU-DIFF", false, "mlx5_5",
       [](MadeNode& made) { made.port("mlx5_5").active_mtu = 1024; }},
      {"half of them with a smaller MTU", "", false, "",
       [](MadeNode& made) {
         for (const char* name : {"mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3"})
           made.port(name).active_mtu = 1024;
       }},
      {"a virtual function and its physical one", "hca.vf_with_pf DEV-MERGE", false, "mlx5_6",
       [](MadeNode& made) { made.hca("mlx5_6").physfn = made.hca("mlx5_5").pci; }},
      {"a virtual function whose physical one NCCL skips", "", false, "",
       [](MadeNode& made) {
         made.hca("mlx5_6").physfn = made.hca("mlx5_5").pci;
         made.port("mlx5_5").choice = facts::PortChoice::kUserFilter;
       }},
      {"no GID at all", "roce.empty_gid GID-CONT", true, "mlx5_1",
       [](MadeNode& made) { made.port("mlx5_1").gids.clear(); }},
      {"GID types that NCCL can't read", "roce.empty_gid GID-CONT", true, "mlx5_1",
       [](MadeNode& made) {
         made.port("mlx5_1").pick = {-1, PickBasis::kNone, "reading the type of GID 0 fails"};
       }},
      {"a forced index that is empty", "roce.forced_gid GID-WRONG", true, "mlx5_1",
       [](MadeNode& made) {
         made.port("mlx5_1").pick = {5, PickBasis::kForced, "forced"};
       }},
      {"a forced index that is good", "", false, "",
       [](MadeNode& made) {
         made.port("mlx5_1").pick = {3, PickBasis::kForced, "forced"};
       }},
      {"a link-local GID", "roce.link_local GID-LINKLOCAL", false, "mlx5_1",
       [](MadeNode& made) {
         made.port("mlx5_1").gids.push_back(make_gid(0, "fe80::1/64", 3));
         made.port("mlx5_1").pick = {0, PickBasis::kFallback, "no IPv4 GID qualifies"};
       }},
      {"a forced link-local GID", "roce.link_local GID-WRONG", false, "mlx5_1",
       [](MadeNode& made) {
         made.port("mlx5_1").gids.push_back(make_gid(0, "fe80::1/64", 3));
         made.port("mlx5_1").pick = {0, PickBasis::kForced, "forced"};
       }},
      {"a link-local GID that is not picked", "", false, "",
       [](MadeNode& made) { made.port("mlx5_1").gids.push_back(make_gid(0, "fe80::1/64", 3)); }},
      {"a RoCE v1 GID", "roce.v1 GID-V1", false, "mlx5_1",
       [](MadeNode& made) { made.port("mlx5_1").gids[0].type = GidType::kRoceV1; }},
      {"a GID of unknown type", "", false, "",
       [](MadeNode& made) { made.port("mlx5_1").gids[0].type = GidType::kUnknown; }},
      {"one InfiniBand port among RoCE ports", "hca.link_layer DEV-MIXLL", true, "mlx5_9",
       [](MadeNode& made) { made.add_ib("mlx5_9"); }},
      {"an InfiniBand port that NCCL skips", "", false, "",
       [](MadeNode& made) {
         made.add_ib("mlx5_9").ports[0].choice = facts::PortChoice::kNotActive;
       }},
      {"a device path that does not resolve, NCCL 2.22", "hca.unusable DEV-NOPCI", true, "mlx5_1",
       [](MadeNode& made) {
         made.node.nccl_version = 22203;
         made.hca("mlx5_1").device_path.clear();
       }},
      {"a device path that does not resolve, NCCL 2.24", "", false, "",
       [](MadeNode& made) {
         made.node.nccl_version = 22403;
         made.hca("mlx5_1").device_path.clear();
       }},
      {"a GPU driver and no GPUDirect", "gdr.missing GDR-NOMOD", false, "mlx5_1",
       [](MadeNode& made) {
         made.node.system.gpu_driver_loaded = true;
         made.hca("mlx5_1").gdr.way = facts::GdrWay::kNone;
       }},
      {"a GPU driver, and GPUs that can't", "", false, "",
       [](MadeNode& made) {
         made.node.system.gpu_driver_loaded = true;
         made.hca("mlx5_1").gdr.way = facts::GdrWay::kNone;
         made.hca("mlx5_1").gdr.gpu_lacks = true;
       }},
      {"no GPU driver and no GPUDirect", "", false, "",
       [](MadeNode& made) { made.hca("mlx5_1").gdr.way = facts::GdrWay::kNone; }},
      {"a GPU driver, GPUDirect not known", "", false, "",
       [](MadeNode& made) { made.node.system.gpu_driver_loaded = true; }},
      {"8 MiB of locked memory", "limits.memlock LIM-MEMLOCK", false, "",
       [](MadeNode& made) { made.node.system.limits.memlock_soft = 8U << 20; }},
      {"8 MiB of locked memory and CAP_IPC_LOCK", "", false, "",
       [](MadeNode& made) {
         made.node.system.limits.memlock_soft = 8U << 20;
         made.node.system.limits.cap_ipc_lock = true;
       }},
      {"just enough locked memory", "", false, "",
       [](MadeNode& made) { made.node.system.limits.memlock_soft = 64U << 20; }},
      {"256 open files", "limits.nofile LIM-NOFILE", false, "",
       [](MadeNode& made) { made.node.system.limits.nofile_soft = 256; }},
      {"1024 open files", "", false, "",
       [](MadeNode& made) { made.node.system.limits.nofile_soft = 1024; }},
      {"active, and its link is not up", "hca.phys_state DEV-DOWN", false, "mlx5_1",
       [](MadeNode& made) { made.port("mlx5_1").phys_state = 3; }},
      {"a physical state that the driver doesn't tell", "", false, "",
       [](MadeNode& made) { made.port("mlx5_1").phys_state = 0; }},
      {"an HCA that can't be opened", "hca.unusable DEV-UNUSABLE", false, "mlx5_9",
       [](MadeNode& made) {
         facts::Hca& hca = made.add_hca("mlx5_9", 2, 400000);
         hca.ports.clear();
         hca.closed = nnd::diagnosis::CannotOpen{"mlx5_9", 13};
       }},
  };
  return kRows;
}

}  // namespace

TEST_CASE("a rail that is down, and has an address as its siblings have, is missed") {
  MadeNode made = rails();
  made.port("mlx5_7").state = 1;
  made.port("mlx5_7").choice = facts::PortChoice::kNotActive;
  const Judgement judgement = made.judge(Mode::kEnforce);
  CHECK(rules_of(judgement.verdicts) == Strings{"hca.phys_state DEV-DOWN"});
  CHECK(judgement.verdicts[0].device == "mlx5_7");
  CHECK(judgement.verdicts[0].decision == Decision::kWarn);
  CHECK(judgement.refused.empty());
}

TEST_CASE("beside another network's HCA a port that is down is missed by the plan of its address") {
  MadeNode made = rails();
  made.add_rail("mlx5_x", "198.18.0.2/24", 100000);
  for (const char* down : {"mlx5_7", "mlx5_y"}) {
    if (std::string_view(down) == "mlx5_y") {
      made.port("mlx5_7").state = 4;
      made.port("mlx5_7").choice = facts::PortChoice::kTaken;
      made.add_rail(down, "198.18.9.2/24");
    }
    made.port(down).state = 1;
    made.port(down).choice = facts::PortChoice::kNotActive;
    const auto told = rules_of(made.judge(Mode::kEnforce).verdicts);
    const bool missed =
        std::find(told.begin(), told.end(), "hca.phys_state DEV-DOWN") != told.end();
    CHECK(missed == (std::string_view(down) == "mlx5_7"));
  }
}

TEST_CASE("every built-in rule, broken and nearly broken") {
  for (const RuleRow& row : roce_rows()) {
    INFO(row.what);
    MadeNode made = rails();
    row.change(made);
    const Strings expected = *row.verdict ? Strings{row.verdict} : Strings{};

    const Judgement observed = made.judge(Mode::kObserve);
    CHECK(rules_of(observed.verdicts) == expected);
    for (const Verdict& verdict : observed.verdicts) CHECK(verdict.decision == Decision::kInfo);
    CHECK(observed.refused.empty());

    const Judgement warned = made.judge(Mode::kWarn);
    CHECK(rules_of(warned.verdicts) == expected);
    for (const Verdict& verdict : warned.verdicts) {
      CHECK(verdict.decision == Decision::kWarn);
      CHECK(verdict.device == row.device);
      CHECK_FALSE(verdict.diagnosis.sentence.empty());
      CHECK_FALSE(verdict.diagnosis.remedy.empty());
      CHECK(verdict.remaining == warned.remaining);
    }
    CHECK(warned.refused.empty());
    CHECK_FALSE(warned.network_refused.has_value());

    const Judgement enforced = made.judge(Mode::kEnforce);
    CHECK(rules_of(enforced.verdicts) == expected);
    CHECK(enforced.refuses(row.device, 1) == row.refuses);
    CHECK(enforced.refused.size() == (row.refuses ? 1U : 0U));
    const bool network = std::string_view(row.verdict) == "limits.memlock LIM-MEMLOCK";
    CHECK(enforced.network_refused.has_value() == network);
  }
}

TEST_CASE("InfiniBand's own rules, broken and nearly broken") {
  struct Row {
    const char* what;
    const char* verdict;
    std::function<void(facts::Port&)> change;
  };
  const std::vector<Row> rows = {
      {"no LID", "hca.lid IB-NOSM", [](facts::Port& port) { port.lid = 0; }},
      {"no subnet manager known", "", [](facts::Port& port) { port.sm_lid = 0; }},
      {"an empty key", "hca.pkey PKEY",
       [](facts::Port& port) {
         port.pkeys = {0xffff, 0};
         port.pkey_index = 1;
       }},
      {"a limited key", "hca.pkey PKEY",
       [](facts::Port& port) {
         port.pkeys = {0x7fff, 0x8001};
       }},
      {"a full key at the index", "",
       [](facts::Port& port) {
         port.pkeys = {0x7fff, 0x8001};
         port.pkey_index = 1;
       }},
      {"an index beyond the table", "hca.pkey PKEY",
       [](facts::Port& port) { port.pkey_index = 9; }},
      {"keys that could not be read", "", [](facts::Port& port) { port.pkeys.clear(); }},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    MadeNode made;
    for (int i = 0; i < 4; ++i) made.add_ib(fmt::format("mlx5_{}", i));
    row.change(made.port("mlx5_2"));
    const Judgement judgement = made.judge(Mode::kEnforce);
    CHECK(rules_of(judgement.verdicts) == (*row.verdict ? Strings{row.verdict} : Strings{}));
    CHECK(judgement.refuses("mlx5_2", 1) == (*row.verdict != 0));
  }
}

TEST_CASE("the sentence, the remedy and what remains") {
  MadeNode made = rails(2);
  made.add_rail("mlx5_2", "10.200.2.2/24");
  made.netdev_of(made.add_bond("mlx5_bond_0", "10.1.0.2/16", 25000)).default_route = true;
  const Judgement judgement = made.judge(Mode::kEnforce);
  REQUIRE(judgement.verdicts.size() == 1);
  const Verdict& verdict = judgement.verdicts[0];
  CHECK(verdict.diagnosis.sentence ==
        "mlx5_bond_0 is over the bond bond5 (eth0, eth1) and unlike the 3 plain HCAs: 25 Gbit/s "
        "where most have 400 Gbit/s, the default route, subnet 10.1.0.0/16 where the others are in "
        "10.200.0.0/16. It is probably the storage or front-end bond.");
  CHECK(verdict.diagnosis.remedy == "NCCL_IB_HCA==mlx5_0,mlx5_1,mlx5_2");
  CHECK(verdict.remaining == Strings{"mlx5_0:1", "mlx5_1:1", "mlx5_2:1"});
  CHECK(verdict.decision == Decision::kRefuse);
}

TEST_CASE("a setting names ports where an HCA keeps only some") {
  MadeNode made = rails(2);
  facts::Port second = made.port("mlx5_0");
  second.number = 2;
  made.hca("mlx5_0").ports.push_back(second);
  CHECK(hca_setting(made.node, {"mlx5_0:1", "mlx5_0:2", "mlx5_1:1"}) ==
        "NCCL_IB_HCA==mlx5_0,mlx5_1");
  CHECK(hca_setting(made.node, {"mlx5_0:2", "mlx5_1:1"}) == "NCCL_IB_HCA==mlx5_0:2,mlx5_1");
  made.hca("mlx5_0").ports[0].choice = facts::PortChoice::kNotActive;
  CHECK(hca_setting(made.node, {"mlx5_0:2"}) == "NCCL_IB_HCA==mlx5_0");
}

TEST_CASE("the file's own rules") {
  Policy policy;
  const auto rules = [&](MadeNode made) {
    return rules_of(made.judge(Mode::kEnforce, policy).verdicts);
  };
  SECTION("deny and allow") {
    policy.hca.deny = {"mlx5_[67]"};
    CHECK(rules(rails()) == Strings{"hca.deny DEV-DENIED", "hca.deny DEV-DENIED"});
    CHECK(rails().judge(Mode::kEnforce, policy).remaining.size() == 6);
    policy.hca.deny = {};
    policy.hca.allow = {"mlx5_?"};
    CHECK(rules(rails()).empty());
    policy.hca.allow = {"mlx5_0"};
    CHECK(rules(rails(2)) == Strings{"hca.allow DEV-DENIED"});
  }
  SECTION("bonds") {
    MadeNode made;
    made.add_bond("mlx5_bond_0", "10.0.0.2/24");
    policy.hca.bond = BondRule::kDeny;
    CHECK(rules(made) == Strings{"hca.bond DEV-BOND"});
    made = rails();
    made.add_bond("mlx5_bond_0", "10.1.0.2/16", 25000);
    policy.hca.bond = BondRule::kAllow;
    CHECK(rules(made) == Strings{"hca.slow DEV-SLOW"});
  }
  SECTION("link layer") {
    policy.hca.link_layer = LinkLayerRule::kInfiniband;
    CHECK(rules(rails(1)) == Strings{"hca.link_layer DEV-MIXLL"});
    policy.hca.link_layer = LinkLayerRule::kRoce;
    CHECK(rules(rails(1)).empty());
    policy.hca.link_layer = LinkLayerRule::kAny;
    MadeNode made = rails();
    made.add_ib("mlx5_9");
    CHECK(rules(made).empty());
  }
  SECTION("speed, MTU, subnets") {
    policy.hca.min_speed_mbps = 400001;
    CHECK(rules(rails(1)) == Strings{"hca.min_speed_mbps DEV-SLOW"});
    policy.hca.min_speed_mbps = 400000;
    policy.hca.min_mtu = 4096;
    policy.roce.subnets = {facts::parse_prefix("10.200.0.0/16").value()};
    CHECK(rules(rails(1)).empty());
    policy.hca.min_mtu = 4097;
    CHECK(rules(rails(1)) == Strings{"hca.mtu MTU-DIFF"});
    policy.hca.mtu = Action::kAllow;
    policy.roce.subnets = {facts::parse_prefix("10.201.0.0/16").value()};
    CHECK(rules(rails(1)) == Strings{"roce.subnets DEV-DENIED"});
  }
  SECTION("GPUDirect") {
    MadeNode made = rails(1);
    made.hca("mlx5_0").gdr.way = facts::GdrWay::kPeermem;
    made.hca("mlx5_0").gdr.peermem = true;
    policy.gdr = GdrRule::kAny;
    CHECK(rules(made).empty());
    policy.gdr = GdrRule::kPeermem;
    CHECK(rules(made).empty());
    policy.gdr = GdrRule::kDmabuf;
    CHECK(rules(made) == Strings{"gdr.require GDR-NOMOD"});
  }
  SECTION("limits") {
    MadeNode made = rails(1);
    made.node.system.limits.memlock_soft = 1U << 30;
    policy.limits.memlock = std::numeric_limits<long>::max();
    CHECK(rules(made) == Strings{"limits.memlock LIM-MEMLOCK"});
    made.node.system.limits.memlock_soft = UINT64_MAX;
    CHECK(rules(made).empty());
  }
}

TEST_CASE("limits of an emulated node count only where a file names them") {
  MadeNode made = rails(1);
  made.hca("mlx5_0").uverbs = facts::UverbsState::kNotExamined;
  made.node.system.limits.memlock_soft = 1;
  CHECK(made.judge().verdicts.empty());
  Policy policy;
  policy.limits_given = true;
  CHECK(rules_of(made.judge(Mode::kWarn, policy).verdicts) ==
        Strings{"limits.memlock LIM-MEMLOCK"});
}

TEST_CASE("too few, and none at all") {
  Policy policy;
  policy.hca.min_count = 8;
  CHECK_FALSE(rails().judge(Mode::kEnforce, policy).network_refused.has_value());
  const Judgement few = rails(7).judge(Mode::kEnforce, policy);
  CHECK(few.network_refused->diagnosis.sentence ==
        "7 usable HCA ports remain, the policy asks for 8.");
  CHECK(few.refused.empty());
  CHECK_FALSE(rails(7).judge(Mode::kWarn, policy).network_refused.has_value());

  policy = {};
  policy.hca.deny = {"mlx5_*"};
  const Judgement none = rails(2).judge(Mode::kEnforce, policy);
  CHECK(none.remaining.empty());
  CHECK(none.network_refused->diagnosis.sentence.starts_with(
      "The policy refuses every HCA of this node: mlx5_0"));

  MadeNode down = rails(2);
  for (facts::Hca& hca : down.node.hcas) hca.ports[0].choice = facts::PortChoice::kNotActive;
  CHECK(rules_of(down.judge(Mode::kEnforce).verdicts) == Strings{"fallback.socket DEV-FALLBACK"});
  CHECK_FALSE(down.judge(Mode::kEnforce).network_refused.has_value());
  policy = {};
  policy.fallback.socket = Action::kDeny;
  CHECK(down.judge(Mode::kEnforce, policy).network_refused.has_value());
  CHECK(MadeNode().judge(Mode::kEnforce, policy).network_refused.has_value());
  CHECK(rails(1).judge(Mode::kEnforce, policy).verdicts.empty());

  // NCCL_IB_HCA is named where it alone keeps all out.
  const auto listed = [&down](const std::string& value) {
    down.node.filter = facts::HcaFilter::parse(&value, 23007);
    for (facts::Hca& hca : down.node.hcas)
      hca.ports[0].choice = down.node.filter.takes(hca.name, 1) ? facts::PortChoice::kNotActive
                                                                : facts::PortChoice::kUserFilter;
    return down.judge().verdicts.at(0).diagnosis.remedy;
  };
  CHECK(listed("ib0") == "NCCL_IB_HCA=ib0 keeps all of them out: correct or unset it.");
  CHECK(listed("mlx5_0").find("NCCL_IB_HCA=mlx5_0") == std::string::npos);

  MadeNode hidden;
  hidden.node.sysfs_hcas = {"mlx5_0"};
  CHECK(hidden.judge().verdicts.empty());  // the Ethernet NIC of a machine without GPUs
  hidden.node.pci.gpus.push_back({"0000:11:00.0", "", 0});
  CHECK(rules_of(hidden.judge().verdicts) == Strings{"fallback.socket DEV-FALLBACK"});
  hidden.node.rdma_unwanted = true;
  CHECK(hidden.judge().verdicts.empty());
}

TEST_CASE("a variable that makes NCCL use TCP is no way around a policy that denies it") {
  MadeNode made = rails();
  made.node.rdma_unwanted = true;
  made.node.tcp_by = "NCCL_IB_DISABLE=1";
  CHECK(made.judge(Mode::kEnforce).verdicts.empty());
  Policy policy;
  policy.fallback.socket = Action::kDeny;
  const Judgement judgement = made.judge(Mode::kEnforce, policy);
  CHECK(rules_of(judgement.verdicts) == Strings{"fallback.socket DEV-FALLBACK"});
  REQUIRE(judgement.network_refused.has_value());
  CHECK(judgement.network_refused->diagnosis.sentence ==
        "NCCL_IB_DISABLE=1 makes NCCL use TCP, which the policy doesn't allow.");
}

TEST_CASE("HCAs that can't be opened: one sentence each, or one for all") {
  MadeNode made = rails(3);
  const auto close = [&made](const char* name) {
    made.hca(name).open_errno = 13;
    made.hca(name).ports.clear();
    made.hca(name).closed = nnd::diagnosis::CannotOpen{name, 13};
  };
  close("mlx5_0");
  close("mlx5_1");
  const auto some = made.judge().verdicts;
  REQUIRE(some.size() == 2);
  CHECK(some[0].device == "mlx5_0");
  CHECK(some[1].device == "mlx5_1");
  close("mlx5_2");
  CHECK(rules_of(made.judge().verdicts) ==
        Strings{"hca.unusable DEV-UNUSABLE", "fallback.socket DEV-FALLBACK"});
  CHECK(made.judge().verdicts[0].device.empty());
  CHECK(made.judge().verdicts[0].diagnosis.sentence ==
        "None of the 3 HCAs can be opened: mlx5_0 is listed but can't be opened (Permission "
        "denied). It is the same with the others.");
  Policy policy;
  policy.overrides = {
      {"", "mlx5_[01]", {[](Policy& rules) { rules.hca.unusable = Action::kAllow; }}}};
  CHECK(made.judge(Mode::kWarn, policy).verdicts[0].device == "mlx5_2");
}

TEST_CASE("who wants TCP says so in the file") {
  MadeNode down = rails(2);
  for (facts::Hca& hca : down.node.hcas) hca.ports[0].choice = facts::PortChoice::kNotActive;
  Policy policy;
  policy.fallback.socket = Action::kAllow;
  CHECK(down.judge(Mode::kWarn, policy).verdicts.empty());
  policy.fallback.socket = Action::kWarn;
  CHECK(rules_of(down.judge(Mode::kWarn, policy).verdicts) ==
        Strings{"fallback.socket DEV-FALLBACK"});
}

TEST_CASE("overrides by host and device") {
  MadeNode made = rails();
  made.add_bond("mlx5_bond_0", "10.1.0.2/16", 25000);
  Policy policy;
  const auto allow_bond = [](Policy& rules) {
    rules.hca.bond = BondRule::kAllow;
    rules.hca.slow = Action::kAllow;
  };
  const auto verdicts = [&](const Override& rule) {
    policy.overrides = {rule};
    return made.judge(Mode::kEnforce, policy).verdicts.size();
  };
  CHECK(verdicts({"", "mlx5_bond_*", {allow_bond}}) == 0);
  CHECK(verdicts({"node-*", "mlx5_bond_*", {allow_bond}}) == 0);
  CHECK(verdicts({"node-1", "", {allow_bond}}) == 0);
  CHECK(verdicts({"node-2", "", {allow_bond}}) == 1);
  CHECK(verdicts({"", "mlx5_bond_1", {allow_bond}}) == 1);
}

TEST_CASE("verdicts are the same each time") {
  MadeNode made = rails();
  made.add_bond("mlx5_bond_0", "10.1.0.2/16", 25000);
  made.port("mlx5_3").speed_mbps = 1000;
  const Judgement first = made.judge();
  const Judgement second = made.judge();
  REQUIRE(first.verdicts.size() == second.verdicts.size());
  for (std::size_t i = 0; i < first.verdicts.size(); ++i)
    CHECK(first.verdicts[i].diagnosis.sentence == second.verdicts[i].diagnosis.sentence);
}

TEST_CASE("the environment's mode goes before the file's") {
  Policy policy;
  policy.mode = Mode::kEnforce;
  nnd::config::Settings settings;
  settings.mode = Mode::kObserve;
  CHECK(effective_mode(policy, settings) == Mode::kEnforce);
  settings.mode_given = true;
  CHECK(effective_mode(policy, settings) == Mode::kObserve);
}
