#include "peers/facts.h"

#include <algorithm>

#include "peers/facts_differ.h"
#include "support/catch.h"

namespace peers = nnd::peers;
using nccl_net_diag::Cause;
using peers::ProcessFacts;
using peers::Variables;

namespace {

Variables variables(const std::map<std::string, std::string>& set) {
  Variables out;
  for (const auto& [name, value] : set) out[peers::hash_of_name(name)] = {name, value};
  for (const char* name : {"NCCL_ALGO", "NCCL_PROTO", "NCCL_IB_HCA", "NCCL_BUFFSIZE"})
    out.try_emplace(peers::hash_of_name(name), peers::Variable{name, std::nullopt});
  return out;
}

// An ordinary process of a job.
ProcessFacts usual(const std::map<std::string, std::string>& set = {}) {
  ProcessFacts out;
  out.nccl = 22809;
  out.version = 200;
  out.transport = peers::Transport::kIb;
  out.ports = 8;
  out.speed_mbps = 400'000;
  out.mtu = 4096;
  out.link_layer = peers::LinkLayer::kEthernet;
  out.gids = peers::Gids::kIpv4;
  out.gpu_direct = peers::GpuDirect::kWorks;
  out.fusion = peers::Fusion::kOn;
  out.qps = 1;
  out.traffic_class = 0;
  set_settings(out, variables(set));
  return out;
}

std::vector<peers::Difference> compared(const std::map<std::string, std::string>& here,
                                        const std::map<std::string, std::string>& there) {
  return differences(usual(here), usual(there), variables(here));
}

bool any_cause(const std::vector<peers::Difference>& all) {
  return std::any_of(all.begin(), all.end(), [](const auto& one) { return one.cause.has_value(); });
}

}  // namespace

TEST_CASE("processes that are alike differ in nothing") {
  CHECK(differences(usual(), usual(), variables({})).empty());
  CHECK(differences(ProcessFacts(), usual(), variables({})).empty());
  CHECK(differences(usual(), ProcessFacts(), variables({})).empty());
}

TEST_CASE("where both ends need the same a cause is named, with both values") {
  struct Case {
    const char* what;
    void (*change)(ProcessFacts&);
    Cause cause;
    std::string here, there;
  };
  const Case one = GENERATE(
      Case{"NCCL", [](ProcessFacts& f) { f.nccl = 22707; }, Cause::kIncVersion, "2.28.9", "2.27.7"},
      Case{"transport", [](ProcessFacts& f) { f.transport = peers::Transport::kSocket; },
           Cause::kIncIbTcp, "IB", "Socket"},
      Case{"link layer", [](ProcessFacts& f) { f.link_layer = peers::LinkLayer::kInfiniBand; },
           Cause::kDevMixLl, "Ethernet", "InfiniBand"},
      Case{"GID type", [](ProcessFacts& f) { f.gids = peers::Gids::kRoceV1; }, Cause::kGidDiff,
           "RoCE v2 by IPv4", "RoCE v1"},
      Case{"fusion of a card's ports", [](ProcessFacts& f) { f.fusion = peers::Fusion::kOff; },
           Cause::kIncFusion, "on", "off"},
      Case{"GPUDirect RDMA", [](ProcessFacts& f) { f.gpu_direct = peers::GpuDirect::kNone; },
           Cause::kIncDriver, "possible", "impossible"},
      Case{"NCCL_IB_QPS_PER_CONNECTION", [](ProcessFacts& f) { f.qps = 4; }, Cause::kIncQps, "1",
           "4"},
      Case{"NCCL_IB_TC", [](ProcessFacts& f) { f.traffic_class = 106; }, Cause::kRoceTc, "0",
           "106"});
  CAPTURE(one.what);
  ProcessFacts other = usual();
  one.change(other);
  const auto found = differences(usual(), other, variables({}));
  REQUIRE(found.size() == 1);
  CHECK(found[0].what == one.what);
  CHECK(found[0].cause == one.cause);
  CHECK(found[0].here == one.here);
  CHECK(found[0].there == one.there);
  const auto seen_there = differences(other, usual(), variables({}));
  REQUIRE(seen_there.size() == 1);
  CHECK(seen_there[0].here == one.there);
  CHECK(seen_there[0].cause == one.cause);
}

TEST_CASE("what nobody knows of one end accuses nobody") {
  ProcessFacts unknown = usual();
  unknown.nccl = 0;
  unknown.link_layer = peers::LinkLayer::kUnknown;
  unknown.gids = peers::Gids::kUnknown;
  unknown.gpu_direct = peers::GpuDirect::kUnknown;
  unknown.fusion = peers::Fusion::kUnknown;
  unknown.qps = unknown.traffic_class = -1;
  ProcessFacts other = usual();
  other.qps = 4;
  CHECK(differences(unknown, other, variables({})).empty());
  CHECK(differences(other, unknown, variables({})).empty());
}

TEST_CASE("nodes and ranks that may be as they are get no cause") {
  ProcessFacts other = usual({{"NCCL_IB_HCA", "mlx5_1"}, {"NCCL_SOCKET_IFNAME", "eth1"}});
  other.ports = 4;
  other.speed_mbps = 200'000;
  other.mtu = 1024;
  other.version = 300;
  const std::map<std::string, std::string> mine{{"NCCL_IB_HCA", "mlx5_0"},
                                                {"NCCL_SOCKET_IFNAME", "eth0"}};
  const auto found = differences(usual(mine), other, variables(mine));
  CHECK(found.size() == 6);
  CHECK_FALSE(any_cause(found));
}

TEST_CASE("a variable by which each rank chooses for itself has to be the same") {
  const auto found = compared({{"NCCL_ALGO", "Ring"}}, {{"NCCL_ALGO", "Tree"}});
  REQUIRE(found.size() == 1);
  CHECK(found[0].what == "NCCL_ALGO");
  CHECK(found[0].cause == Cause::kIncEnv);
  CHECK(found[0].here == "Ring");
  CHECK(found[0].there.empty());  // a hash says no more
  const auto only_there = compared({}, {{"NCCL_PROTO", "LL"}});
  REQUIRE(only_there.size() == 1);
  CHECK(only_there[0].here == "not set");
  CHECK(compared({{"NCCL_PROTO", "LL"}}, {}).at(0).there == "not set");
}

TEST_CASE("another way to write the same is the same, and so is the default") {
  CHECK(compared({{"NCCL_ALGO", "ring"}}, {{"NCCL_ALGO", "RING"}}).empty());
  CHECK(compared({{"NCCL_BUFFSIZE", "0x800000"}}, {{"NCCL_BUFFSIZE", "8388608"}}).empty());
  CHECK(compared({{"NCCL_BUFFSIZE", "4194304"}}, {}).empty());
  CHECK(compared({}, {{"NCCL_BUFFSIZE", "4194304"}}).empty());
  CHECK(compared({{"NCCL_ALGO", ""}}, {}).empty());
  CHECK(any_cause(compared({{"NCCL_BUFFSIZE", "8388608"}}, {})));
}

TEST_CASE("what is a process's own is not compared") {
  for (const char* name : {"NCCL_NET_DIAG_FILE", "NCCL_DEBUG", "NCCL_DEBUG_FILE", "NCCL_HOSTID",
                           "NCCL_TOPO_DUMP_FILE", "NCCL_GRAPH_DUMP_FILE", "UCX_TLS", "PATH"}) {
    CHECK_FALSE(peers::is_compared(name));
    CHECK(compared({{name, "1"}}, {{name, "2"}}).empty());
    CHECK(usual({{name, "1"}}).settings.empty());
  }
}

TEST_CASE("who has more variables than there is room for is not said to lack one") {
  std::map<std::string, std::string> many;
  for (int i = 0; i < 100; ++i) many["NCCL_SOME_" + std::to_string(i)] = "1";
  many["NCCL_PROTO"] = "LL";
  const ProcessFacts full = usual(many);
  CHECK(full.settings.size() == peers::kMostSettings);
  CHECK_FALSE(full.all_settings);
  // Those that all need go first.
  CHECK(full.settings.front().name == peers::hash_of_name("NCCL_PROTO"));
  CHECK(differences(full, full, variables(many)).empty());
  const std::map<std::string, std::string> one{{"NCCL_IB_HCA", "mlx5_0"}};
  const auto found = differences(usual(one), full, variables(one));
  REQUIRE(found.size() == 1);
  CHECK(found[0].what == "NCCL_PROTO");
}
