#include "policy/lint.h"

#include <map>

#include "made_node.h"
#include "support/catch.h"

using namespace nnd::policy;
using namespace nnd::policy::test;
namespace facts = nnd::facts;

namespace {

using Values = std::map<std::string, std::string, std::less<>>;

// mlx5_0, mlx5_1, mlx5_10 and an interface of each.
std::vector<Lint> lint(Values values, int version = 23007,
                       const std::function<void(MadeNode&)>& change = {}) {
  MadeNode made = rails(2);
  made.add_rail("mlx5_10", "10.200.10.2/24");
  facts::NetDev docker;
  docker.ifindex = 50;
  docker.name = "docker0";
  made.node.network.devs.push_back(docker);
  docker.ifindex = 51;
  docker.name = "wg0";
  made.node.network.devs.push_back(docker);
  if (change) change(made);
  const facts::Environment environment(std::move(values));
  made.node.nccl_version = version;
  made.node.filter = facts::HcaFilter::parse(environment.get("NCCL_IB_HCA"), version);
  return lint_environment(made.node, environment);
}

}  // namespace

TEST_CASE("a clean environment has no lint") {
  CHECK(lint({}).empty());
  CHECK(lint({{"NCCL_IB_HCA", "=mlx5_0,mlx5_1"},
              {"NCCL_IB_RETRY_CNT", "7"},
              {"NCCL_IB_TIMEOUT", "22"},
              {"NCCL_IB_GID_INDEX", "3"},
              {"NCCL_SOCKET_IFNAME", "ens2"},
              {"NCCL_NET_PLUGIN", "diag"}})
            .empty());
}

TEST_CASE("each variable, wrong and nearly wrong") {
  struct Row {
    const char* variable;
    const char* value;
    const char* cause;  // empty: nothing may be said
    const char* part;   // of the sentence
  };
  const auto row = GENERATE(
      Row{"NCCL_IB_HCA", "mlx5_1", "DEV-PREFIX", "\"mlx5_1\" also matches mlx5_10"},
      Row{"NCCL_IB_HCA", "=mlx5_1", "", ""}, Row{"NCCL_IB_HCA", "mlx5_10", "", ""},
      Row{"NCCL_IB_HCA", "mlx5", "", ""},  // a prefix that is nobody's name is meant as one
      Row{"NCCL_IB_HCA", "^mlx5_1", "DEV-PREFIX", "also matches mlx5_10"},
      Row{"NCCL_IB_HCA", "^=mlx5_1", "", ""}, Row{"NCCL_IB_HCA", "^=mlx4_0,mlx5_1", "", ""},
      Row{"NCCL_IB_HCA", "^mlx5_0,^mlx5_10", "DEV-PREFIX", "\"^mlx5_10\""},
      Row{"NCCL_IB_HCA", "=mlx5_0,=mlx5_1", "DEV-PREFIX", "\"=mlx5_1\""},
      Row{"NCCL_IB_HCA", "=^mlx5_0", "DEV-PREFIX", "^ first"},
      Row{"NCCL_IB_HCA", "mlx5_0,mlx4_0", "DEV-PREFIX", "\"mlx4_0\" matches no HCA"},
      Row{"NCCL_IB_HCA", "mlx5_0:2", "DEV-PREFIX", "matches no HCA"},
      Row{"NCCL_IB_HCA", "mlx5_0:1", "", ""},
      Row{"NCCL_IB_HCA", "mlx5_0, mlx5_10", "DEV-PREFIX", "space"},
      Row{"NCCL_IB_RETRY_CNT", "8", "LINK-FLAP", "8 becomes 0"},
      Row{"NCCL_IB_RETRY_CNT", "10", "LINK-FLAP", "10 becomes 2"},
      Row{"NCCL_IB_RETRY_CNT", "7", "", ""}, Row{"NCCL_IB_RETRY_CNT", "1", "LINK-FLAP", "4.3 s"},
      Row{"NCCL_IB_RETRY_CNT", "2", "", ""}, Row{"NCCL_IB_TIMEOUT", "0", "LINK-FLAP", "for ever"},
      Row{"NCCL_IB_TIMEOUT", "17", "LINK-FLAP", "3.8 s"}, Row{"NCCL_IB_TIMEOUT", "19", "", ""},
      Row{"NCCL_IB_TIMEOUT", "32", "LINK-FLAP", "32 becomes 0"},
      Row{"NCCL_IB_TIMEOUT", "31", "", ""},
      Row{"NCCL_IB_MQP_RETRY_ALL", "1", "QP-RETRY", "refusals too"},
      Row{"NCCL_IB_MQP_RETRY_ALL", "0", "", ""},
      Row{"NCCL_IB_MQP_RETRY_ALL", "1", "QP-RETRY", "60 s"},
      Row{"NCCL_IB_MQP_RETRY_CNT", "60", "QP-RETRY", "183 s"},
      Row{"NCCL_IB_MQP_RETRY_CNT", "48", "", ""},  // 118 s
      Row{"NCCL_IB_MQP_RETRY_SLEEP_MSEC", "250", "QP-RETRY", "149 s"},
      Row{"NCCL_IB_MQP_RETRY_SLEEP_MSEC", "200", "", ""}, Row{"NCCL_IB_MQP_RETRY_CNT", "0", "", ""},
      Row{"NCCL_SOCKET_IFNAME", "docker0", "DEV-OOB", "docker0"},
      Row{"NCCL_SOCKET_IFNAME", "^docker0", "", ""}, Row{"NCCL_SOCKET_IFNAME", "lo", "", ""},
      Row{"NCCL_SOCKET_IFNAME", "eth9", "DEV-OOB", "None of these"},
      Row{"NCCL_SOCKET_IFNAME", "eth9,ens", "", ""},
      Row{"NCCL_SOCKET_IFNAME", "=ens", "DEV-OOB", "None"},
      Row{"NCCL_SOCKET_IFNAME", "wg0", "DEV-OOB", "VPN"}, Row{"NCCL_NET", "IB", "", ""},
      Row{"NCCL_NET", "socket", "DEV-FALLBACK", "3 HCAs"},
      Row{"NCCL_IB_DISABLE", "1", "DEV-FALLBACK", "3 HCAs"}, Row{"NCCL_IB_DISABLE", "0", "", ""},
      Row{"NCCL_NET", "FastSocket", "DEV-PLUGIN", "FastSocket"},
      Row{"NCCL_NET_PLUGIN", "fastsocket", "DEV-PLUGIN", "fastsocket"},
      Row{"NCCL_NET_PLUGIN", "none", "", ""}, Row{"NCCL_NET_PLUGIN", "diag", "", ""},
      Row{"NCCL_IB_ADDR_FAMILY", "ipv6", "ENV-TYPO", "AF_INET6"},
      Row{"NCCL_IB_ADDR_FAMILY", "AF_INET6", "", ""},
      Row{"NCCL_NET_GDR_LEVEL", "PBH", "ENV-TYPO", "PHB"}, Row{"NCCL_NET_GDR_LEVEL", "PHB", "", ""},
      Row{"NCCL_NET_GDR_LEVEL", "3", "", ""},
      Row{"NCCL_IB_TC", "300", "ENV-TYPO", "300 becomes 44"}, Row{"NCCL_IB_TC", "255", "", ""},
      Row{"NCCL_IB_SL", "16", "ENV-TYPO", "16 becomes 0"}, Row{"NCCL_IB_SL", "15", "", ""},
      Row{"NCCL_IB_QPS_PER_CONNECTION", "0", "ENV-TYPO", "No connection gets a QP"},
      Row{"NCCL_IB_QPS_PER_CONNECTION", "1", "", ""},
      Row{"NCCL_IB_PKEY", "abc", "ENV-TYPO", "no number"}, Row{"NCCL_IB_PKEY", "0x1", "", ""});
  INFO(row.variable << "=" << row.value);
  const auto found = lint({{row.variable, row.value}});
  if (!*row.cause) {
    CHECK(found.empty());
    return;
  }
  REQUIRE(found.size() == 1);
  CHECK(found[0].variable == row.variable);
  CHECK(found[0].value == row.value);
  CHECK(cause_id(found[0].diagnosis.cause) == row.cause);
  INFO(found[0].diagnosis.sentence);
  CHECK(found[0].diagnosis.sentence.find(row.part) != std::string::npos);
  CHECK_FALSE(found[0].diagnosis.remedy.empty());
}

TEST_CASE("a GID index must fit every device that is taken") {
  const auto forced_on_one = [](MadeNode& made) {
    made.port("mlx5_1").pick = {5, facts::PickBasis::kForced, "forced"};
  };
  const auto found = lint({{"NCCL_IB_GID_INDEX", "5"}}, 23007, forced_on_one);
  REQUIRE(found.size() == 1);
  CHECK(found[0].diagnosis.sentence == "There is no GID at this index on mlx5_1:1.");
  CHECK(lint({{"NCCL_IB_GID_INDEX", "-1"}}, 23007, forced_on_one).empty());
  CHECK(lint({{"NCCL_IB_GID_INDEX", "5"}}, 23007, [&](MadeNode& made) {
          forced_on_one(made);
          made.port("mlx5_1").choice = facts::PortChoice::kNotActive;
        }).empty());
}

TEST_CASE("a GID index must not be worse than what NCCL would find") {
  const auto forced = [](facts::GidType type, const char* prefix, bool better) {
    return [=](MadeNode& made) {
      facts::Port& port = made.port("mlx5_1");
      if (!better) port.gids.clear();
      port.gids.push_back(make_gid(0, prefix, 3, type));
      port.pick = {0, facts::PickBasis::kForced, "forced"};
    };
  };
  using facts::GidType;
  const Values at_0 = {{"NCCL_IB_GID_INDEX", "0"}};
  const auto link_local = lint(at_0, 23007, forced(GidType::kRoceV2, "fe80::2/64", true));
  REQUIRE(link_local.size() == 1);
  CHECK(link_local[0].diagnosis.sentence.starts_with("At this index mlx5_1:1 has a link-local"));
  CHECK(lint(at_0, 23007, forced(GidType::kRoceV1, "10.200.1.2/24", true)).size() == 1);
  CHECK(lint(at_0, 23007, forced(GidType::kRoceV2, "10.200.1.2/24", true)).empty());
  // Where there is no better one the index is not at fault.
  CHECK(lint(at_0, 23007, forced(GidType::kRoceV2, "fe80::2/64", false)).empty());
}

TEST_CASE("the interface that NCCL picks by itself") {
  const auto picked = [](const char* netdev) {
    return [=](MadeNode& made) { made.node.oob = {netdev, "172.17.0.1", ""}; };
  };
  const auto found = lint({}, 23007, picked("docker0"));
  REQUIRE(found.size() == 1);
  CHECK(found[0].variable == "NCCL_SOCKET_IFNAME");
  CHECK(found[0].diagnosis.sentence.find("meet by docker0 (172.17.0.1)") != std::string::npos);
  CHECK(lint({}, 23007, picked("ens2")).empty());
  CHECK(lint({}, 23007, picked("")).empty());
  CHECK(lint({{"NCCL_SOCKET_IFNAME", "ens2"}}, 23007, picked("docker0")).empty());
}

TEST_CASE("leftovers that turn GPUDirect off") {
  const auto way = [](facts::GdrWay by, bool peermem) {
    return [=](MadeNode& made) {
      for (facts::Hca& hca : made.node.hcas) {
        hca.gdr.way = by;
        hca.gdr.peermem = peermem;
      }
    };
  };
  using facts::GdrWay;
  for (const char* level : {"LOC", "0"}) {
    CHECK(lint({{"NCCL_NET_GDR_LEVEL", level}}, 23007, way(GdrWay::kPeermem, true)).size() == 1);
    CHECK(lint({{"NCCL_NET_GDR_LEVEL", level}}, 23007, way(GdrWay::kNone, false)).empty());
  }
  CHECK(lint({{"NCCL_NET_GDR_LEVEL", "SYS"}}, 23007, way(GdrWay::kPeermem, true)).empty());
  const Values off = {{"NCCL_DMABUF_ENABLE", "0"}};
  CHECK(lint(off, 23007, way(GdrWay::kDmabuf, false)).size() == 1);
  CHECK(lint(off, 23007, way(GdrWay::kDmabuf, true)).empty());
  CHECK(lint({{"NCCL_DMABUF_ENABLE", "1"}}, 23007, way(GdrWay::kDmabuf, false)).empty());
}

TEST_CASE("NCCL 2.24 and 2.25 fuse ports of one card although they may not") {
  const auto one_card = [](MadeNode& made) {
    for (facts::Hca& hca : made.node.hcas) hca.device_path = "devices/0000:10:00.0";
    made.node.hcas.back().device_path = "devices/0000:20:00.0";
    made.node.oob.netdev = "ens2";  // else NCCL has no transport
  };
  for (const int version : {22403, 22501}) {
    const auto found = lint({{"NCCL_IB_MERGE_NICS", "0"}}, version, one_card);
    REQUIRE(found.size() == 1);
    CHECK(found[0].variable == "NCCL_IB_MERGE_NICS");
    CHECK(found[0].diagnosis.cause == nccl_net_diag::Cause::kDevMerge);
    CHECK(found[0].diagnosis.sentence.find("fuses mlx5_0:1 and mlx5_1:1,") != std::string::npos);
    CHECK(lint({{"NCCL_IB_MERGE_NICS", "0"}}, version).empty());
    CHECK(lint({{"NCCL_IB_MERGE_NICS", "1"}}, version, one_card).empty());
    CHECK(lint({{"NCCL_IB_MERGE_NICS", "0"}, {"NCCL_NET_MERGE_LEVEL", "LOC"}}, version, one_card)
              .empty());
  }
  for (const int version : {0, 22304, 22602})
    CHECK(lint({{"NCCL_IB_MERGE_NICS", "0"}}, version, one_card).empty());
}

TEST_CASE("NCCL 2.28.3 to 2.29.7 need the plugin's reference kept") {
  for (const int version : {22803, 22809, 22907}) {
    CHECK(lint({}, version).size() == 1);
    CHECK(lint({{"NCCL_NET_PLUGIN_REF_COUNT", "1"}}, version).empty());
  }
  for (const int version : {0, 22707, 22802, 22908, 23003}) CHECK(lint({}, version).empty());
}

TEST_CASE("values that files and other processes have") {
  const auto with_file = [](MadeNode& made) {
    made.node.system.conf_files.push_back({"/etc/nccl.conf", 0, {{"NCCL_DEBUG", "WARN"}}});
  };
  CHECK(lint({{"NCCL_DEBUG", "WARN"}}, 23007, with_file).empty());
  CHECK(lint({}, 23007, with_file).empty());
  const auto overridden = lint({{"NCCL_DEBUG", "INFO"}}, 23007, with_file);
  REQUIRE(overridden.size() == 1);
  CHECK(overridden[0].diagnosis.sentence ==
        "/etc/nccl.conf says WARN, the environment overrides it.");
  const auto lost =
      lint({}, 23007, [](MadeNode& made) { made.node.system.missing_from_init = {"NCCL_IB_HCA"}; });
  REQUIRE(lost.size() == 1);
  CHECK(lost[0].diagnosis.cause == nnd::diagnosis::Cause::kIncEnv);
}
