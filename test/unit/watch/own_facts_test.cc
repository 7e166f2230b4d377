#include "watch/own_facts.h"

#include "support/catch.h"

namespace facts = nnd::facts;
namespace peers = nnd::peers;
namespace watch = nnd::watch;
using peers::Transport;

namespace {

facts::Port port(bool ethernet) {
  facts::Port out;
  out.link_layer = ethernet ? 2 : 1;
  out.speed_mbps = 400'000;
  out.active_mtu = 4096;
  facts::Gid gid;
  gid.index = 3;
  gid.type = facts::GidType::kRoceV2;
  gid.raw = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1};
  out.gids.push_back(gid);
  out.pick.index = 3;
  return out;
}

// Two cards of one port.
facts::Node node(bool ethernet = true) {
  facts::Node out;
  out.nccl_version = 22809;
  out.collect_ns = 1;
  for (const char* pci : {"0000:c1:00.0", "0000:c2:00.0"}) {
    facts::Hca hca;
    hca.name = std::string("mlx5_") + pci[6];
    hca.pci = pci;
    hca.gdr.way = facts::GdrWay::kPeermem;
    hca.ports.push_back(port(ethernet));
    out.hcas.push_back(hca);
  }
  return out;
}

peers::ProcessFacts of(const facts::Node& node) { return watch::facts_of(node, Transport::kIb); }

}  // namespace

TEST_CASE("a node with RoCE") {
  auto made = node();
  made.system.environment = {{"NCCL_IB_QPS_PER_CONNECTION", "4"}, {"NCCL_IB_TC", "106"}};
  made.system.gpu_driver_loaded = true;
  for (auto& hca : made.hcas) hca.gdr.dmabuf = false;
  const auto said = of(made);
  CHECK(said.known());
  CHECK(said.ports == 2);
  CHECK(said.speed_mbps == 400'000);
  CHECK(said.mtu == 4096);
  CHECK(said.link_layer == peers::LinkLayer::kEthernet);
  CHECK(said.gids == peers::Gids::kIpv4);
  CHECK(said.gpu_direct == peers::GpuDirect::kWorks);
  CHECK(said.fusion == peers::Fusion::kUnknown);  // there is nothing to fuse
  CHECK(said.qps == 4);
  CHECK(said.traffic_class == 106);
  CHECK(said.service_level == -1);
  CHECK(said.settings.empty());  // the numbers say it
}

TEST_CASE("a node with InfiniBand has a service level and no traffic class") {
  const auto said = of(node(false));
  CHECK(said.link_layer == peers::LinkLayer::kInfiniBand);
  CHECK(said.gids == peers::Gids::kUnknown);
  CHECK(said.traffic_class == -1);
  CHECK(said.service_level == 0);
}

TEST_CASE("HCAs that are not alike, or not taken, leave it open") {
  auto made = node();
  made.hcas[1].ports[0] = port(false);
  CHECK(of(made).link_layer == peers::LinkLayer::kUnknown);
  CHECK(of(made).gids == peers::Gids::kUnknown);
  CHECK(of(made).traffic_class == -1);
  made.hcas[1].ports[0].choice = facts::PortChoice::kUserFilter;
  CHECK(of(made).link_layer == peers::LinkLayer::kEthernet);
  CHECK(of(made).ports == 1);
  made.hcas[0].ports[0].pick.certain = false;
  CHECK(of(made).gids == peers::Gids::kUnknown);
}

TEST_CASE("ports of one card are fused, unless a variable says more of it") {
  auto made = node();
  made.hcas[1].pci = "0000:c1:00.1";
  CHECK(of(made).fusion == peers::Fusion::kOn);
  made.system.environment = {{"NCCL_IB_MERGE_NICS", "0"}};
  CHECK(of(made).fusion == peers::Fusion::kOff);
  made.system.environment = {{"NCCL_NET_MERGE_LEVEL", "SYS"}};
  CHECK(of(made).fusion == peers::Fusion::kUnknown);
  made.system.environment.clear();
  made.nccl_version = 21903;
  CHECK(of(made).fusion == peers::Fusion::kUnknown);
}

TEST_CASE("GPUDirect counts where NCCL has asked, and where the GPUs could") {
  auto made = node();
  CHECK(of(made).gpu_direct == peers::GpuDirect::kUnknown);  // no GPUs
  made.system.gpu_driver_loaded = true;
  CHECK(of(made).gpu_direct == peers::GpuDirect::kUnknown);  // not asked yet
  facts::GdrState none;
  none.way = facts::GdrWay::kNone;
  const watch::GdrFound found{{made.hcas[0].name, none}, {made.hcas[1].name, none}};
  CHECK(watch::facts_of(made, Transport::kIb, found).gpu_direct == peers::GpuDirect::kNone);
  none.gpu_lacks = true;
  const watch::GdrFound lacking{{made.hcas[0].name, none}, {made.hcas[1].name, none}};
  CHECK(watch::facts_of(made, Transport::kIb, lacking).gpu_direct == peers::GpuDirect::kUnknown);
}

TEST_CASE("who is on sockets tells nothing of HCAs") {
  auto made = node();
  made.system.environment = {{"NCCL_ALGO", "Ring"}};
  const auto said = watch::facts_of(made, Transport::kSocket);
  CHECK(said.ports == 0);
  CHECK(said.qps == -1);
  CHECK(said.link_layer == peers::LinkLayer::kUnknown);
  CHECK(said.settings.size() == 1);
}

TEST_CASE("variables that are known and not set are among those that are compared") {
  auto made = node();
  made.system.environment = {{"NCCL_ALGO", "Ring"}, {"NCCL_OF_TOMORROW", "1"}, {"UCX_TLS", "rc"}};
  const auto all = watch::variables_of(made);
  const auto shown = [&](const char* name) { return all.at(peers::hash_of_name(name)).shown; };
  CHECK(shown("NCCL_ALGO") == "Ring");
  CHECK(shown("NCCL_OF_TOMORROW") == "1");
  CHECK_FALSE(shown("NCCL_PROTO"));
  CHECK_FALSE(all.contains(peers::hash_of_name("UCX_TLS")));
}

TEST_CASE("a release as a number") {
  CHECK(watch::release_code("2.28.9") == 22809);
  CHECK(watch::release_code("0.12.0") == 1200);
  for (const char* text : {"", "1", "1.2", "1.2.x", "1.2.3.4", "1.2.100"})
    CHECK(watch::release_code(text) == 0);
}
