// Who is of the compute fabric, and who is only said to be odd. The nodes of examples/fleets are
// judged in test/fleets; here is what decides.
#include <functional>
#include <random>

#include "made_node.h"
#include "support/catch.h"

using namespace nnd::policy;
using namespace nnd::policy::test;
namespace facts = nnd::facts;

using Strings = std::vector<std::string>;

namespace {

// Below a switch of its own, with a GPU beside it.
void beside_gpu(MadeNode& made, facts::Hca& hca) {
  const std::string gpu = fmt::format("gpu{}", made.node.pci.gpus.size());
  made.node.pci.gpus.push_back({gpu, "", 0});
  hca.device_path = "devices/pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:00.0/" + hca.pci;
  hca.gpu_distance = facts::PciDistance::kPix;
  hca.near_gpus = {gpu};
}

void at_the_cpu(facts::Hca& hca) {
  hca.device_path = "devices/pci0000:80/0000:80:01.0/" + hca.pci;
  hca.gpu_distance = facts::PciDistance::kSys;
}

MadeNode gpu_rails(int count) {
  MadeNode made = rails(count);
  for (facts::Hca& hca : made.node.hcas) beside_gpu(made, hca);
  return made;
}

struct Row {
  const char* what;
  const char* verdict;  // of mlx5_x, in enforce mode; empty: nothing is said
  bool refused;
  std::function<MadeNode()> make;
};

void add_route(MadeNode& made, const facts::Hca& by, const char* dst) {
  facts::Route route;
  route.dst = facts::parse_prefix(dst).value();
  route.ifindex = made.netdev_of(by).ifindex;
  made.node.network.routes.push_back(route);
}

void add_default_route(MadeNode& made, const facts::Hca& by) {
  add_route(made, by, "0.0.0.0/0");
  made.netdev_of(by).default_route = true;
}

const std::vector<Row>& rows() {
  static const std::vector<Row> kRows = {
      {"another network alone", "hca.outside DEV-MGMT", false,
       [] {
         MadeNode made = rails();
         made.add_rail("mlx5_x", "172.16.0.2/16");
         return made;
       }},
      {"another network with a route to it", "", false,
       [] {
         MadeNode made = rails();
         add_route(made, made.add_rail("mlx5_x", "172.16.0.2/16"), "10.200.0.0/16");
         return made;
       }},
      {"another network, to which the rails have a default route", "", false,
       [] {
         MadeNode made = rails();
         made.add_rail("mlx5_x", "172.16.0.2/16");
         add_route(made, made.node.hcas[0], "0.0.0.0/0");
         return made;
       }},
      {"another network, whose own default route is no way to the rails", "hca.outside DEV-MGMT",
       false,
       [] {
         MadeNode made = rails();
         add_route(made, made.add_rail("mlx5_x", "172.16.0.2/16"), "0.0.0.0/0");
         return made;
       }},
      {"another network and another speed, lower", "hca.outside DEV-MGMT", true,
       [] {
         MadeNode made = rails();
         made.add_rail("mlx5_x", "172.16.0.2/16", 200000);
         return made;
       }},
      {"another network and another speed, higher", "hca.outside DEV-MGMT", true,
       [] {
         MadeNode made = rails();
         made.add_rail("mlx5_x", "172.16.0.2/16", 800000);
         return made;
       }},
      {"higher speed alone", "", false,
       [] {
         MadeNode made = rails();
         made.add_rail("mlx5_x", "10.200.9.2/24", 800000);
         return made;
       }},
      {"one rail of two is no plan", "", false,
       [] {
         MadeNode made = rails(1);
         made.add_rail("mlx5_x", "172.16.0.2/16");
         return made;
       }},
      {"two of three in one plan, the third with the default route", "hca.outside DEV-MGMT", true,
       [] {
         MadeNode made = rails(2);
         made.netdev_of(made.add_rail("mlx5_x", "172.16.0.2/16")).default_route = true;
         return made;
       }},
      {"two of three in one plan, and nothing else", "", false,
       [] {
         MadeNode made = rails(2);
         made.add_rail("mlx5_x", "172.16.0.2/16");
         return made;
       }},
      {"two networks of two HCAs each", "", false,
       [] {
         MadeNode made = rails(2);
         made.add_rail("mlx5_x", "172.16.0.2/16");
         made.add_rail("mlx5_y", "172.16.1.2/16");
         return made;
       }},
      {"half of the speed and the default route", "hca.outside DEV-MGMT", true,
       [] {
         MadeNode made = rails();
         made.netdev_of(made.add_rail("mlx5_x", "10.200.9.2/24", 200000)).default_route = true;
         return made;
       }},
      {"beside none of eight GPUs that have HCAs of their own", "hca.outside DEV-MGMT", true,
       [] {
         MadeNode made = gpu_rails(8);
         at_the_cpu(made.add_rail("mlx5_x", "10.200.9.2/24"));
         return made;
       }},
      {"beside none of two GPUs", "hca.outside DEV-MGMT", false,
       [] {
         MadeNode made = gpu_rails(2);
         at_the_cpu(made.add_rail("mlx5_x", "10.200.9.2/24"));
         return made;
       }},
      {"the one HCA beside a GPU, and one at the CPU", "", false,
       [] {
         MadeNode made = gpu_rails(1);
         at_the_cpu(made.add_rail("mlx5_x", "10.200.9.2/24"));
         return made;
       }},
      {"the HCA of a GPU that is lost", "", false,
       [] {
         MadeNode made = gpu_rails(7);
         facts::Hca& hca = made.add_rail("mlx5_x", "10.200.9.2/24");
         beside_gpu(made, hca);
         made.node.pci.gpus.pop_back();
         hca.gpu_distance = facts::PciDistance::kSys;
         hca.near_gpus.clear();
         return made;
       }},
      {"a GPU without an HCA beside it: the others may be for that", "", false,
       [] {
         MadeNode made = gpu_rails(4);
         made.node.pci.gpus.push_back({"one more", "", 0});
         at_the_cpu(made.add_rail("mlx5_x", "10.200.9.2/24"));
         return made;
       }},
      {"a plain HCA among bonds, as fast", "", false,
       [] {
         MadeNode made;
         for (int i = 0; i < 4; ++i)
           made.add_bond(fmt::format("mlx5_bond_{}", i), fmt::format("10.200.{}.2/24", i));
         made.add_rail("mlx5_x", "10.200.9.2/24");
         return made;
       }},
      {"a plain HCA among bonds, slow", "hca.outside DEV-MGMT", true,
       [] {
         MadeNode made;
         for (int i = 0; i < 2; ++i)
           made.add_bond(fmt::format("mlx5_bond_{}", i), fmt::format("10.200.{}.2/24", i));
         made.add_rail("mlx5_x", "192.168.0.2/24", 25000);
         return made;
       }},
      {"the front-end bond of a fleet of bonds, as fast", "hca.outside DEV-MGMT", true,
       [] {
         MadeNode made;
         for (int i = 0; i < 8; ++i)
           made.add_bond(fmt::format("mlx5_bond_{}", i), fmt::format("33.0.{}.2/24", i));
         made.netdev_of(made.add_bond("mlx5_x", "10.1.0.2/16")).default_route = true;
         return made;
       }},
      {"Ethernet beside one InfiniBand HCA that is faster", "hca.link_layer DEV-MIXLL", true,
       [] {
         MadeNode made;
         made.add_ib("mlx5_0", 200000);
         made.add_rail("mlx5_x", "10.0.0.2/24", 25000);
         return made;
       }},
      {"InfiniBand and Ethernet that weigh the same", "hca.link_layer DEV-MIXLL", false,
       [] {
         MadeNode made;
         made.add_ib("mlx5_0", 100000);
         made.add_rail("mlx5_x", "10.0.0.2/24", 100000);
         return made;
       }},
      {"another InfiniBand prefix, and slower", "hca.outside DEV-MGMT", true,
       [] {
         MadeNode made;
         for (int i = 0; i < 4; ++i) made.add_ib(fmt::format("mlx5_{}", i));
         made.add_ib("mlx5_x", 200000).ports[0].gids[0].raw = raw_gid("fec0::2");
         return made;
       }},
      {"two InfiniBand prefixes of four each", "", false,
       [] {
         MadeNode made;
         for (int i = 0; i < 4; ++i) made.add_ib(fmt::format("mlx5_{}", i));
         for (const char* name : {"a", "b", "c", "x"})
           made.add_ib(std::string("mlx5_") + name).ports[0].gids[0].raw = raw_gid("fec0::2");
         return made;
       }},
  };
  return kRows;
}

}  // namespace

TEST_CASE("fabric: who is of it, who is not, and where that can't be told") {
  for (const Row& row : rows()) {
    INFO(row.what);
    const MadeNode made = row.make();
    const Judgement judgement = made.judge(Mode::kEnforce);
    CHECK(rules_of(judgement.verdicts) == (*row.verdict ? Strings{row.verdict} : Strings{}));
    for (const Verdict& verdict : judgement.verdicts) {
      CHECK(verdict.device == "mlx5_x");
      // A list of the others, or its own name where the others are not known to be meant.
      if (verdict.rule == "hca.outside")
        CHECK((verdict.diagnosis.remedy == "If it is not meant: NCCL_IB_HCA=^=mlx5_x") !=
              row.refused);
    }
    CHECK(judgement.refuses("mlx5_x", 1) == row.refused);
    CHECK(judgement.refused.size() == (row.refused ? 1U : 0U));
    if (*row.verdict) CHECK(judgement.doubtful.empty() == row.refused);
    CHECK_FALSE(judgement.network_refused.has_value());
  }
}

TEST_CASE("fabric: a rail is known by its GPU, however slow it is and wherever it leads") {
  MadeNode made = gpu_rails(8);
  facts::Hca& slow = made.hca("mlx5_3");
  made.port("mlx5_3").speed_mbps = 200000;
  made.netdev_of(slow).default_route = true;
  for (const Mode mode : {Mode::kWarn, Mode::kEnforce}) {
    const Judgement judgement = made.judge(mode);
    CHECK(rules_of(judgement.verdicts) == Strings{"hca.slow DEV-SLOW"});
    CHECK(judgement.refused.empty());
    CHECK(judgement.doubtful.empty());
    CHECK(judgement.meant.size() == 8);  // listed as on whole nodes
    CHECK(judgement.verdicts[0].diagnosis.remedy.ends_with(
        "without the rail on every node: NCCL_IB_HCA==mlx5_0,mlx5_1,mlx5_2,mlx5_4,mlx5_5,mlx5_6,"
        "mlx5_7"));
  }
  // Another HCA at a GPU that has its rail is none.
  made.port("mlx5_3").speed_mbps = 400000;
  made.netdev_of(made.hca("mlx5_3")).default_route = false;
  facts::Hca& front = made.add_rail("mlx5_x", "192.168.0.2/24", 100000);
  front.gpu_distance = made.hca("mlx5_3").gpu_distance;
  front.near_gpus = made.hca("mlx5_3").near_gpus;
  made.netdev_of(front).default_route = true;
  CHECK(made.judge(Mode::kEnforce).refuses("mlx5_x", 1));
}

TEST_CASE("fabric: a rail that is down beside its GPU is told, and listed") {
  MadeNode made = gpu_rails(8);
  facts::Port& port = made.port("mlx5_3");
  port.choice = facts::PortChoice::kNotActive;
  port.state = 1;
  port.phys_state = 2;
  port.gids.clear();
  const Judgement judgement = made.judge(Mode::kEnforce);
  CHECK(rules_of(judgement.verdicts) == Strings{"hca.phys_state DEV-DOWN"});
  CHECK(judgement.verdicts[0].device == "mlx5_3");
  CHECK(judgement.remaining.size() == 7);
  CHECK(judgement.meant.size() == 8);
  // A second port that is down at a GPU which has its rail is nobody's business, nor one of another
  // make.
  port.choice = facts::PortChoice::kTaken;
  port = made.port("mlx5_4");
  facts::Hca second = made.hca("mlx5_3");
  second.name = "mlx5_x";
  second.ports[0].choice = facts::PortChoice::kNotActive;
  made.node.hcas.push_back(second);
  CHECK(rules_of(made.judge(Mode::kWarn).verdicts).empty());
  made.port("mlx5_3").choice = facts::PortChoice::kUserFilter;
  made.node.hcas.back().vendor_part_id = 1;
  CHECK(rules_of(made.judge(Mode::kWarn).verdicts).empty());
}

TEST_CASE("fabric: storage stays outside while a rail is slow or down") {
  MadeNode made = gpu_rails(8);
  at_the_cpu(made.add_rail("mlx5_x", "10.200.9.2/24"));
  const auto check = [&made] {
    const Judgement judgement = made.judge(Mode::kEnforce);
    CHECK(judgement.refused.size() == 1);
    CHECK(judgement.refuses("mlx5_x", 1));
    CHECK(judgement.meant.size() == 8);
    CHECK(judgement.doubtful.empty());
  };
  check();
  made.port("mlx5_3").speed_mbps = 200000;
  check();
  made.port("mlx5_3").choice = facts::PortChoice::kNotActive;
  made.port("mlx5_3").state = 1;
  check();
}

TEST_CASE("fabric: a switch that has a rail less than the other one misses it") {
  MadeNode made = gpu_rails(8);
  for (std::size_t i = 0; i < 8; ++i) {
    facts::Hca& hca = made.hca(fmt::format("mlx5_{}", i));
    hca.near_gpus.clear();
    for (std::size_t gpu = i / 4 * 4; gpu < i / 4 * 4 + 4; ++gpu)
      hca.near_gpus.push_back(made.node.pci.gpus[gpu].address);
  }
  CHECK(made.judge(Mode::kWarn).verdicts.empty());
  for (const bool down : {true, false}) {
    facts::Port& port = made.port("mlx5_3");
    port.choice = down ? facts::PortChoice::kNotActive : facts::PortChoice::kTaken;
    port.state = down ? 1 : 4;
    port.speed_mbps = down ? 400000 : 100000;
    const Judgement judgement = made.judge(Mode::kEnforce);
    CHECK(rules_of(judgement.verdicts) ==
          Strings{down ? "hca.phys_state DEV-DOWN" : "hca.slow DEV-SLOW"});
    CHECK(judgement.meant.size() == 8);
  }
}

TEST_CASE("fabric: of two of one make the faster shows what the other could do") {
  MadeNode made = gpu_rails(2);
  made.port("mlx5_1").speed_mbps = 100000;
  const Judgement own = made.judge(Mode::kEnforce);
  CHECK(rules_of(own.verdicts) == Strings{"hca.slow DEV-SLOW"});
  CHECK(own.verdicts[0].device == "mlx5_1");
  CHECK(own.refused.empty());
  // Of two at one GPU it is told as well; which of them is meant isn't known.
  made.hca("mlx5_1").near_gpus = made.hca("mlx5_0").near_gpus;
  CHECK(rules_of(made.judge(Mode::kWarn).verdicts) == Strings{"hca.slow DEV-SLOW"});
  made.hca("mlx5_1").vendor_part_id = 1;
  CHECK(made.judge(Mode::kWarn).verdicts.empty());
}

TEST_CASE("fabric: addresses that are numbered on over an octet's end are one plan") {
  MadeNode made;
  for (int i = 0; i < 6; ++i)
    made.add_rail(fmt::format("mlx5_{}", i), fmt::format("172.16.{}.2/24", 250 + i));
  made.add_rail("mlx5_6", "172.17.0.2/24");
  made.add_rail("mlx5_7", "172.17.1.2/24");
  CHECK(made.judge(Mode::kWarn).verdicts.empty());
  made.add_rail("mlx5_8", "172.17.9.2/24");  // not the next one
  CHECK(rules_of(made.judge(Mode::kWarn).verdicts) == Strings{"hca.outside DEV-MGMT"});
}

TEST_CASE("fabric: a foreign address before the right one is no reason to lose the rail") {
  MadeNode made = rails();
  facts::Port& port = made.port("mlx5_3");
  port.gids.push_back(port.gids[0]);
  port.gids[1].index = 5;
  port.gids[0] = make_gid(3, "192.168.7.2/24", port.gids[1].ifindex);
  const Judgement judgement = made.judge(Mode::kEnforce);
  CHECK(rules_of(judgement.verdicts) == Strings{"hca.outside GID-WRONG"});
  CHECK(judgement.verdicts[0].diagnosis.remedy ==
        "NCCL_IB_ADDR_RANGE=10.200.0.0/16 on every node.");
  CHECK(judgement.refused.empty());
  CHECK(judgement.doubtful.empty());
}

TEST_CASE("functions of a card: the one with an address here is meant") {
  MadeNode made = gpu_rails(4);
  for (int i = 0; i < 4; ++i) {
    facts::Hca idle = made.hca(fmt::format("mlx5_{}", i));
    idle.physfn = idle.pci;
    idle.pci += "1";
    idle.name = fmt::format("mlx5_{}", i + 4);
    idle.ports[0].gids[0] = make_gid(3, "fe80::2/64", 0);
    idle.ports[0].gids[0].address.reset();
    made.node.hcas.push_back(idle);
  }
  Judgement judgement = made.judge(Mode::kEnforce);
  CHECK(rules_of(judgement.verdicts) == Strings{"hca.vf_with_pf DEV-MERGE"});
  CHECK(judgement.verdicts[0].also == Strings{"mlx5_5:1", "mlx5_6:1", "mlx5_7:1"});
  CHECK(judgement.refused.size() == 4);
  CHECK(judgement.verdicts[0].diagnosis.remedy == "NCCL_IB_HCA==mlx5_0,mlx5_1,mlx5_2,mlx5_3");
  // The other way round: a pod's own are the virtual ones.
  for (int i = 0; i < 4; ++i)
    std::swap(made.port(fmt::format("mlx5_{}", i)).gids,
              made.port(fmt::format("mlx5_{}", i + 4)).gids);
  judgement = made.judge(Mode::kEnforce);
  CHECK(judgement.verdicts.at(0).device == "mlx5_0");
  CHECK(judgement.verdicts[0].diagnosis.remedy == "NCCL_IB_HCA==mlx5_4,mlx5_5,mlx5_6,mlx5_7");
}

TEST_CASE("fabric: it is never refused for what stands beside it") {
  // Ten front-end ports of every kind beside two rails.
  for (const long mbps : {10000L, 25000L, 100000L})
    for (const bool bonds : {false, true}) {
      MadeNode made = gpu_rails(2);
      for (int i = 0; i < 10; ++i) {
        const std::string name = fmt::format("mlx5_{}", i + 2);
        const std::string address = fmt::format("192.168.{}.2/24", i);
        facts::Hca& hca =
            bonds ? made.add_bond(name, address, mbps) : made.add_rail(name, address, mbps);
        at_the_cpu(hca);
      }
      const Judgement judgement = made.judge(Mode::kEnforce);
      INFO(mbps << (bonds ? " bonds" : " plain"));
      CHECK_FALSE(judgement.refuses("mlx5_0", 1));
      CHECK_FALSE(judgement.refuses("mlx5_1", 1));
    }
}

TEST_CASE("fabric: what the policy allows is not outside") {
  MadeNode made = rails();
  made.add_rail("mlx5_x", "172.16.0.2/16", 200000);
  Policy policy;
  policy.hca.outside = Action::kAllow;
  CHECK(made.judge(Mode::kEnforce, policy).verdicts.empty());
  policy.hca.outside = Action::kWarn;
  CHECK(made.judge(Mode::kEnforce, policy).refused.empty());
  CHECK(rules_of(made.judge(Mode::kEnforce, policy).verdicts) == Strings{"hca.outside DEV-MGMT"});
}

TEST_CASE("fabric: NCCL's places go to it") {
  MadeNode made;
  for (int i = 0; i < 2; ++i) {
    facts::Hca& front =
        made.add_rail(fmt::format("front_{}", i), fmt::format("192.168.{}.2/24", i), 25000);
    made.netdev_of(front).default_route = true;
  }
  for (int i = 0; i < 32; ++i)
    made.add_rail(fmt::format("mlx5_{}", i), fmt::format("10.200.{}.2/24", i));
  for (const char* name : {"mlx5_30", "mlx5_31"})
    made.port(name).choice = facts::PortChoice::kOverLimit;
  const Judgement warned = made.judge(Mode::kWarn);
  CHECK(warned.verdicts.size() == 2);
  CHECK(warned.remaining.size() == 32);
  CHECK(warned.remaining.back() == "mlx5_31:1");
  CHECK(warned.doubtful.empty());
  const Judgement enforced = made.judge(Mode::kEnforce);
  fill_places(made.node, enforced);
  CHECK(made.port("mlx5_31").choice == facts::PortChoice::kTaken);

  // A front end beyond the limit isn't NCCL's: told only where refusals let it move up.
  MadeNode last = rails(32);
  last.add_rail("mlx5_x", "172.16.0.2/16", 25000).ports[0].choice = facts::PortChoice::kOverLimit;
  CHECK(last.judge(Mode::kEnforce).verdicts.empty());
  last.add_rail("mlx5_33", "10.200.99.2/24").ports[0].choice = facts::PortChoice::kOverLimit;
  CHECK_FALSE(last.judge(Mode::kWarn).doubtful.empty());  // which of 33 are meant is not known
  Policy policy;
  policy.hca.deny = {"mlx5_0"};
  CHECK(rules_of(last.judge(Mode::kWarn, policy).verdicts) == Strings{"hca.deny DEV-DENIED"});
  const Judgement moved = last.judge(Mode::kEnforce, policy);
  CHECK(rules_of(moved.verdicts) == Strings{"hca.deny DEV-DENIED", "hca.outside DEV-MGMT"});
  CHECK(moved.remaining.back() == "mlx5_33:1");
}

TEST_CASE("a machine with EFA has nothing to mend here") {
  MadeNode made;
  for (int i = 0; i < 4; ++i) {
    facts::Port& port = made.add_hca(fmt::format("rdmap{}s0", i), 0, 100000).ports[0];
    port.choice = facts::PortChoice::kLinkLayer;
  }
  for (const Mode mode : {Mode::kWarn, Mode::kEnforce}) {
    const Judgement judgement = made.judge(mode);
    CHECK(rules_of(judgement.verdicts) == Strings{"fallback.socket DEV-FALLBACK"});
    CHECK(judgement.verdicts[0].decision == Decision::kInfo);
    CHECK_FALSE(judgement.network_refused.has_value());
  }
  CHECK_FALSE(facts::expects_rdma(made.node));
}

namespace {

// A healthy node of one kind of HCA, of which nothing may be said: any number, link layer, plan of
// addresses and place of the GPUs.
MadeNode healthy(std::mt19937& random) {
  const auto below = [&random](unsigned limit) { return static_cast<int>(random() % limit); };
  MadeNode made;
  const int count = 1 + below(16);
  const bool infiniband = below(3) == 0, bonds = below(4) == 0;
  const long mbps = std::vector<long>{25000, 100000, 200000, 400000, 800000}.at(
      static_cast<std::size_t>(below(5)));
  const int plan = below(6), base = below(100);
  for (int i = 0; i < count; ++i) {
    const std::string name = fmt::format("mlx5_{}", i);
    const std::vector<std::string> addresses = {fmt::format("10.{}.{}.2/24", base, i),
                                                fmt::format("10.{}.0.2/16", base + i),
                                                fmt::format("192.168.{}.{}/16", below(250), i + 1),
                                                fmt::format("fd00:{}:{}::2/64", base, i),
                                                fmt::format("172.16.{}.{}/31", i, 2 * below(120)),
                                                fmt::format("10.{}.{}.2/24", 100 + i % 4, i / 4)};
    const std::string& address = addresses.at(static_cast<std::size_t>(plan));
    facts::Hca& hca = infiniband ? made.add_ib(name, mbps)
                      : bonds    ? made.add_bond(name, address, mbps)
                                 : made.add_rail(name, address, mbps);
    if (plan == 4 && !infiniband) add_default_route(made, hca);
    if (infiniband && plan % 3 == 1)  // fabrics of a prefix each, or two
      hca.ports[0].gids[0].raw = raw_gid(fmt::format("fec0::{}:0:0:0:1", i % (plan + 1)));
  }
  // Beside a switch of their own, or all at the CPU; now and then a GPU is lost, or is one of more.
  const bool switches = below(2) == 0;
  const int gpus = std::max(0, count - below(3));
  for (int i = 0; i < count && gpus > 0; ++i) {
    facts::Hca& hca = made.node.hcas[static_cast<std::size_t>(i)];
    if (!switches) {
      at_the_cpu(hca);
      if (i < gpus) made.node.pci.gpus.push_back({fmt::format("gpu{}", i), "", 0});
      continue;
    }
    beside_gpu(made, hca);
    if (i < gpus) continue;
    made.node.pci.gpus.pop_back();
    hca.gpu_distance = facts::PciDistance::kSys;
    hca.near_gpus.clear();
  }
  return made;
}

}  // namespace

TEST_CASE("fabric: of a thousand healthy nodes nothing is said, and all of each remains") {
  for (unsigned seed = 1; seed <= 1000; ++seed) {
    std::mt19937 random(seed);
    const MadeNode made = healthy(random);
    INFO("seed " << seed);
    const Judgement judgement = made.judge(Mode::kEnforce);
    CHECK(rules_of(judgement.verdicts) == Strings{});
    CHECK(judgement.remaining.size() == made.node.hcas.size());
    if (!judgement.verdicts.empty()) break;
  }
}
