// The comparison must be able to fail: with the rules of another release it does, and the minimiser
// leaves what the difference is about.
#include <algorithm>
#include <set>

#include "differential/core.h"
#include "differential/run.h"
#include "driver/nccl_cache.h"
#include "support/catch.h"
#include "support/skip.h"
#include "support/temp_dir.h"

using namespace nnd::differential;

namespace {

constexpr const char* kNewer = "2.28.9";  // picks a GID by itself
constexpr const char* kOlder = "2.18.3";  // takes index 0

Hca hca(int number) {
  Hca out;
  out.name = "mlx5_" + std::to_string(number);
  out.pci = "0000:1" + std::to_string(number) + ":00.0";
  out.parent = "0000:0" + std::to_string(number) + ":01.0";
  Port port;
  port.addresses = {"10." + std::to_string(number) + ".0.1/24"};
  out.ports = {port};
  return out;
}

Node node() {
  Node out;
  out.hcas = {hca(1), hca(2), hca(3)};
  out.hcas[1].ports[0].state = "down";
  out.hcas[2].max_qp = 1024;
  out.environment = {{"NCCL_IB_TC", "106"}, {"NCCL_IB_TIMEOUT", "22"}};
  out.sysfs = {{"kernel/mm/memory_peers/nv_mem/version", "1.0"}};
  return out;
}

}  // namespace

TEST_CASE("a wrong prediction is found and made small") {
  if (!nnd::driver::cached_nccl(kNewer)) NND_SKIP("no NCCL 2.28.9 in the cache");
  REQUIRE(differences(node(), kNewer, 0).empty());
  const auto found = differences(node(), kNewer, 0, kOlder);
  REQUIRE(found.size() == 2);
  CHECK(found[0] == "mlx5_1 send GID index: NCCL 3, check 0");
  const Node small = minimise(node(), kNewer, 0, kOlder);
  CHECK(small.hcas.size() == 1);
  CHECK(small.environment.empty());
  CHECK(small.sysfs.empty());
  CHECK_FALSE(differences(small, kNewer, 0, kOlder).empty());
}

// With two ports of one card. NCCL 2.25.1 crashes there by itself.
TEST_CASE("a job that fails is found; the remedy that is told lets it run") {
  const std::string nccl = "2.25.1";
  if (!nnd::driver::cached_nccl(nccl)) NND_SKIP("no NCCL 2.25.1 in the cache");
  Node two = node();
  two.hosts = 2;
  two.hcas = {hca(1)};
  two.hcas[0].ports.push_back(two.hcas[0].ports[0]);
  two.hcas[0].ports[0].addresses = {"10.1.0.{h+1}/24"};
  two.hcas[0].ports[1].addresses = {"10.2.0.{h+1}/24"};
  two.environment = {{"NCCL_IB_MERGE_NICS", "0"}};
  const auto found = complaints_of_job(two, nccl);
  std::set<std::string> causes;
  for (const std::string& one : found)
    if (one.starts_with('{')) causes.insert(nlohmann::json::parse(one)["cause"]);
  CHECK(causes == std::set<std::string>{"DEV-MERGE"});
  CHECK(std::count_if(found.begin(), found.end(),
                      [](const std::string& one) { return one.starts_with("rank "); }) == 2);
  two.environment["NCCL_NET_MERGE_LEVEL"] = "LOC";
  CHECK(complaints_of_job(two, nccl) == std::vector<std::string>{});
}

// NCCL believes a topology file before sysfs, and the plugin tells what sysfs has.
TEST_CASE("another distance between GPU and HCA is found") {
  if (!nnd::driver::cached_nccl(kNewer)) NND_SKIP("no NCCL 2.28.9 in the cache");
  const nnd::test::TempDir dir;
  Node near = node();
  near.hosts = 2;
  near.hcas = {hca(1)};
  near.hcas[0].ports[0].addresses = {"10.1.0.{h+1}/24"};
  near.gpus = {{"0000:05:00.0", "0000:01:02.0"}};
  near.environment.clear();
  unsigned long compared = 0;
  CHECK(complaints_of_job(near, kNewer, &compared) == std::vector<std::string>{});
  CHECK(compared > 0);
  near.environment["NCCL_TOPO_FILE"] = dir.file("topology.xml", R"(<system version="1">
  <cpu numaid="0" affinity="1" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
    <pci busid="0000:05:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16"/>
  </cpu>
  <cpu numaid="1" affinity="1" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
    <pci busid="0000:11:00.0" class="0x020000" link_speed="32.0 GT/s PCIe" link_width="16"/>
  </cpu>
</system>
)");
  const auto found = complaints_of_job(near, kNewer);
  REQUIRE_FALSE(found.empty());
  CHECK(found.front().starts_with("distance told: PHB; NCCL: "));
}

TEST_CASE("each thing that is compared can differ") {
  const nlohmann::json seen = nlohmann::json::parse(R"({
    "init": "works", "device": 0, "connection": {"accept": 0, "connect": 0},
    "devices": [{"name": "mlx5_0", "speed_mbps": 400000, "port": 1, "pci_path": "/sys/a", "guid": 0,
                 "ptr_support": 5, "max_comms": 8, "force_flush": 0, "rail_id": -1, "plane_id": -1}],
    "moves": {"send": {"INIT": {"errno": 0, "qp": {"pkey_index": 0}},
                       "RTR": {"errno": 0, "dev": {"gid_index": 3},
                               "qp": {"path_mtu": 4096, "sl": 0, "traffic_class": 0}},
                       "RTS": {"errno": 0, "qp": {"timeout": 20, "retry_cnt": 7}}}}})");
  nlohmann::json said = nlohmann::json::parse(R"({
    "hcas": [{"name": "mlx5_0", "port": 1, "mtu": 4096, "gid_table": 8, "link_layer": "Ethernet",
              "pick": {"index": 3, "certain": true}}],
    "transport": {"init": "works",
      "devices": [{"name": "mlx5_0", "speed_mbps": 400000, "port": 1, "pci_path": "/sys/a",
                   "guid": "0x0000000000000000", "ptr_support": 5, "max_comms": 8,
                   "force_flush": false, "rail": null, "plane": null,
                   "members": [{"hca": "mlx5_0", "port": 1}]}],
      "qp": {"pkey_index": 0, "traffic_class": 0, "receiver_traffic_class": 0, "service_level": 0,
             "timeout": 20, "retry_count": 7}}})");
  const auto differ = [&](const std::string& pointer, const nlohmann::json& value) {
    nlohmann::json wrong = said;
    wrong[nlohmann::json::json_pointer(pointer)] = value;
    INFO(pointer);
    CHECK_FALSE(compare(seen, wrong).empty());
  };
  differ("/transport/init", "crashes");
  differ("/transport/devices", nlohmann::json::array());
  for (const char* key : {"name", "pci_path", "guid"})
    differ(std::string("/transport/devices/0/") + key, "other");
  for (const char* key : {"speed_mbps", "port", "ptr_support", "max_comms", "rail", "plane"})
    differ(std::string("/transport/devices/0/") + key, 77);
  differ("/transport/devices/0/force_flush", true);
  for (const char* key : {"pkey_index", "traffic_class", "service_level", "timeout", "retry_count"})
    differ(std::string("/transport/qp/") + key, 77);
  differ("/hcas/0/mtu", 1024);
  differ("/hcas/0/pick/index", 1);
  differ("/hcas/0/pick/index", nullptr);
}
