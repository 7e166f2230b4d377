// What a node's ports carry, and what bounds it: GPUs that share a port, no GPUDirect RDMA.
#include "cli/check/carried.h"

#include "support/catch.h"

using namespace nnd;
using Names = std::vector<std::string>;

namespace {

// Below the root port of that number.
std::string place(int below, const std::string& address) {
  const std::string root = "0000:1" + std::to_string(below);
  return "devices/pci" + root + "/" + root + ":01.0/" + address;
}

facts::Hca hca(const std::string& name, int below) {
  facts::Hca out;
  out.name = name;
  out.pci = "0000:3" + std::to_string(below) + ":00.0";
  out.device_path = place(below, out.pci);
  out.ports.emplace_back();
  out.ports.back().speed_mbps = 400000;
  out.gdr.way = facts::GdrWay::kDmabuf;
  return out;
}

facts::PciFunction gpu(int below, int number) {
  facts::PciFunction out;
  out.address = "0000:4" + std::to_string(number) + ":00.0";
  out.path = place(below, out.address);
  out.index = number;
  return out;
}

// Two rails below a root port each, and GPUs below these.
facts::Node node(const std::vector<int>& gpus_below) {
  facts::Node out;
  out.hcas = {hca("mlx5_0", 0), hca("mlx5_1", 1)};
  for (const int below : gpus_below)
    out.pci.gpus.push_back(gpu(below, static_cast<int>(out.pci.gpus.size())));
  out.system.gpu_driver_loaded = true;
  return out;
}

cli::Carried carried(const facts::Node& node) {
  return cli::carried_by(node, {"mlx5_0:1", "mlx5_1:1"});
}

}  // namespace

TEST_CASE("a GPU for each port: nothing is shared") {
  CHECK(cli::carried_lines(carried(node({0, 1}))) ==
        Names{"the 2 ports carry 800 Gbit/s, 100 GB/s, each way: 50 GB/s for each of 2 GPUs"});
}

TEST_CASE("two GPUs whose nearest port is the same share it, also where another has none") {
  const auto found = carried(node({0, 0}));
  REQUIRE(found.shared.size() == 1);
  CHECK(found.shared[0].ports == Names{"mlx5_0:1"});
  CHECK(cli::carried_lines(found).back() ==
        "GPU 0 0000:40:00.0, GPU 1 0000:41:00.0 share mlx5_0:1");
}

TEST_CASE("GPUs that no port is near to share all, if there are fewer of these") {
  facts::Node far = node({0, 1});
  for (facts::PciFunction& one : far.pci.gpus) one.path = "devices/pci0000:80/" + one.address;
  CHECK(carried(far).shared.empty());
  far.pci.gpus.push_back(gpu(0, 2));
  far.pci.gpus[2].path = "devices/pci0000:80/" + far.pci.gpus[2].address;
  REQUIRE(carried(far).shared.size() == 1);
  CHECK(carried(far).shared[0].ports == Names{"mlx5_0:1", "mlx5_1:1"});
  CHECK(carried(far).shared[0].gpus.size() == 3);
}

TEST_CASE("without GPUDirect RDMA the bound is host memory") {
  facts::Node here = node({0, 1});
  here.hcas[1].gdr.way = facts::GdrWay::kNone;
  here.hcas[1].gdr.why = "nvidia_peermem is not loaded";
  CHECK(cli::carried_lines(carried(here)).back() ==
        "no GPUDirect RDMA by mlx5_1 (nvidia_peermem is not loaded): data goes through host "
        "memory, which is the bound there, and not the ports");
  here.hcas[0].gdr = here.hcas[1].gdr;
  CHECK(cli::carried_lines(carried(here)).back().starts_with("no GPUDirect RDMA (nvidia_peermem"));
  here.system.gpu_driver_loaded = false;  // it isn't known what it could do
  CHECK(carried(here).through_host.empty());
  here.system.gpu_driver_loaded = true;
  here.pci.gpus.clear();
  CHECK(carried(here).through_host.empty());
}
