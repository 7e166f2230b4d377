// What is judged of a node beside its HCAs: GPUs that are far from all of them, and the traffic
// class that the environment makes NCCL ask for.
#include "made_node.h"
#include "policy/traffic_class.h"
#include "support/catch.h"

using namespace nnd::policy;
using namespace nnd::policy::test;
namespace facts = nnd::facts;

namespace {

using Strings = std::vector<std::string>;

// Four GPUs, of which the first three have an HCA below their own switch.
MadeNode three_of_four() {
  MadeNode made = rails(3);
  for (int i = 0; i < 4; ++i) {
    const std::string root =
        fmt::format("devices/pci0000:{0}0/0000:{0}0:01.0/0000:{0}1:00.0", i + 1);
    made.node.pci.gpus.push_back({fmt::format("0000:{}4:00.0", i + 1),
                                  fmt::format("{0}/0000:{1}2:01.0/0000:{1}4:00.0", root, i + 1),
                                  i / 2});
    if (i == 3) continue;
    facts::Hca& hca = made.hca(fmt::format("mlx5_{}", i));
    hca.device_path = fmt::format("{0}/0000:{1}2:00.0/0000:{1}3:00.0", root, i + 1);
    hca.numa = i / 2;
    hca.gpu_distance = facts::PciDistance::kPxb;
    hca.near_gpus = {made.node.pci.gpus.back().address};
    hca.gdr.way = facts::GdrWay::kPeermem;
  }
  return made;
}

}  // namespace

#if !defined(__aarch64__)  // there a GPU may reach further
TEST_CASE("a GPU that is far from every HCA is told, and nothing is wrong") {
  MadeNode made = three_of_four();
  const Judgement judgement = made.judge(Mode::kEnforce);
  REQUIRE(rules_of(judgement.verdicts) == Strings{"gdr.missing GDR-DIST"});
  const Verdict& told = judgement.verdicts[0];
  CHECK(told.decision == Decision::kInfo);
  CHECK(told.device == "mlx5_2");  // on its socket
  CHECK(
      told.diagnosis.sentence.starts_with("GPU 0000:44:00.0 is PHB away from every HCA (mlx5_2 is "
                                          "the nearest), where 3 other GPUs have "
                                          "one within NCCL's limit"));
  // Not where somebody set another limit, where GPUDirect isn't possible, or where most are far.
  made.node.system.environment = {{"NCCL_NET_GDR_LEVEL", "SYS"}};
  CHECK(made.judge().verdicts.empty());
  made.node.system.environment.clear();
  for (facts::Hca& hca : made.node.hcas) hca.gdr.way = facts::GdrWay::kNone;
  CHECK(made.judge().verdicts.empty());
}
#endif

TEST_CASE("the policy's traffic class against the environment's") {
  const MadeNode made = rails(2);
  Policy policy;
  policy.roce.traffic_class = 106;
  const auto judged = [&](std::map<std::string, std::string, std::less<>> values, Mode mode) {
    Judgement out = made.judge(mode, policy);
    judge_traffic_class(made.node, policy, facts::Environment(std::move(values)), out);
    return out;
  };
  const Judgement unset = judged({}, Mode::kEnforce);
  CHECK(rules_of(unset.verdicts) == Strings{"roce.traffic_class ROCE-TC"});
  REQUIRE(unset.network_refused);
  CHECK(unset.network_refused->verdict == 0);
  CHECK(unset.verdicts[0].diagnosis.remedy == "Set NCCL_IB_TC=106 on every node.");
  CHECK_FALSE(judged({}, Mode::kWarn).network_refused);
  CHECK(judged({{"NCCL_IB_TC", "106"}}, Mode::kEnforce).verdicts.empty());
  // The receiver's own messages have one of their own, where it is set.
  const Judgement fifo = judged({{"NCCL_IB_TC", "106"}, {"NCCL_IB_FIFO_TC", "84"}}, Mode::kEnforce);
  REQUIRE(fifo.verdicts.size() == 1);
  CHECK(fifo.verdicts[0].diagnosis.remedy == "Set NCCL_IB_FIFO_TC=106 on every node.");
  policy.roce.traffic_class = -1;
  CHECK(judged({}, Mode::kEnforce).verdicts.empty());
}
