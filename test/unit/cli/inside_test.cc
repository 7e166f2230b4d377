#include "cli/check/inside.h"

#include <algorithm>
#include <map>

#include "../facts/tree.h"
#include "cli/check/bridges.h"
#include "support/catch.h"

using namespace nnd;
using namespace nnd::cli;
using facts::test::Tree;
using nccl_net_diag::Cause;

namespace {

constexpr std::uint64_t kMiB = 1 << 20;

// A node on which nothing is wrong: eight GPUs, eight HCAs.
facts::Node healthy_node() {
  facts::Node out;
  for (int i = 0; i < 8; ++i) {
    out.pci.gpus.push_back({"0000:0" + std::to_string(i) + ":00.0", ""});
    facts::Hca hca;
    hca.name = "mlx5_" + std::to_string(i);
    hca.ports.emplace_back();
    out.hcas.push_back(hca);
  }
  out.nccl_version = 22809;
  return out;
}

Inside healthy() {
  Inside out;
  out.gpus = 8;
  out.shm = SharedMemory{8192 * kMiB, 8000 * kMiB};
  out.cpus = Cpus{24, 192, "its CPU affinity"};
  out.threads = FewThreads{900, 1000000, "ulimit -u"};
  out.nvswitches = 4;
  out.fabric_manager = true;
  out.redirecting.emplace();
  out.tasks = MoreRanksThanGpus{"torchrun", 8, 8, ""};
  return out;
}

// The one trouble of a node that is otherwise healthy.
diagnosis::Diagnosis only(const Inside& inside) {
  const auto all = troubles_of(inside, healthy_node());
  REQUIRE(all.size() == 1);
  CHECK_FALSE(all[0].remedy.empty());
  return all[0];
}

std::string config_with(unsigned control) {
  std::string out(4096, '\0');
  // At 0x100 some other capability, which names the next one at 0x148.
  out[0x100] = 1;
  out[0x102] = '\x81';
  out[0x103] = 0x14;
  out[0x148] = 0x0d;
  out[0x14e] = static_cast<char>(control);
  return out;
}

config::Lookup variables(std::map<std::string, std::string> of) {
  return [of = std::move(of)](const char* name) {
    const auto found = of.find(name);
    return found == of.end() ? std::string() : found->second;
  };
}

}  // namespace

TEST_CASE("nothing is wrong inside a healthy node, nor inside one without GPUs") {
  CHECK(troubles_of(healthy(), healthy_node()).empty());
  CHECK(inside_lines(healthy(), healthy_node()) ==
        std::vector<std::string>{"8 GPUs, 24 of 192 CPUs, 8000 MiB of 8192 MiB free in /dev/shm, "
                                 "900 of 1000000 threads in use (ulimit -u)"});
  Inside login;
  login.shm = SharedMemory{64 * kMiB, 0};
  login.cpus = Cpus{1, 64, ""};
  CHECK(troubles_of(login, facts::Node()).empty());
  CHECK(inside_lines(login, facts::Node()).empty());
}

TEST_CASE("/dev/shm against what NCCL takes of it") {
  Inside small = healthy();
  small.shm = SharedMemory{64 * kMiB, 63 * kMiB};
  const auto told = only(small);
  CHECK(told.cause == Cause::kLimShm);
  CHECK(told.sentence ==
        "/dev/shm has 63 MiB free of 64 MiB, and NCCL takes 32 MiB of it for each rank that uses "
        "the network: up to 256 MiB for the 8 GPUs here, once a communicator.");
  small.shm->free = 256 * kMiB;
  CHECK(troubles_of(small, healthy_node()).empty());
  // One HCA may serve one rank of all.
  facts::Node one_hca = healthy_node();
  one_hca.hcas.resize(1);
  small.shm->free = 40 * kMiB;
  CHECK(troubles_of(small, one_hca).empty());
  one_hca.nccl_version = 23203;
  CHECK(troubles_of(small, one_hca).size() == 1);
}

TEST_CASE("CPUs, threads, tasks and the Fabric Manager") {
  Inside one = healthy();
  one.cpus = Cpus{1, 192, "its CPU affinity"};
  CHECK(only(one).cause == Cause::kLimCpu);
  CHECK(only(one).sentence ==
        "A process started like this one may use 1 CPU of 192 (its CPU affinity): all threads of a "
        "rank share it, NCCL's that drives the network and never rests included.");
  one.cpus->usable = 1.5;
  CHECK(only(one).sentence.starts_with("A process started like this one may use 1.5 CPUs of 192"));
  one.cpus = Cpus{1, 2, ""};  // a small machine
  CHECK(troubles_of(one, healthy_node()).empty());

  one = healthy();
  one.threads = FewThreads{3300, 4096, "/sys/fs/cgroup/job/pids.max"};
  CHECK(only(one).cause == Cause::kLimNproc);
  CHECK(only(one).sentence ==
        "3300 of the 4096 threads and processes that "
        "/sys/fs/cgroup/job/pids.max allows are in use.");
  one.threads->used = 3000;
  CHECK(troubles_of(one, healthy_node()).empty());
  one.threads = FewThreads{40, 100, "ulimit -u"};
  CHECK(only(one).cause == Cause::kLimNproc);

  one = healthy();
  one.tasks->ranks = 9;
  CHECK(only(one).cause == Cause::kDupGpu);
  CHECK(only(one).sentence ==
        "torchrun runs 9 tasks on this node, which has 8 GPUs: if each is a "
        "rank, two are given one GPU.");

  one = healthy();
  one.fabric_manager = false;
  CHECK(only(one).cause == Cause::kGpuNvls);
  one.fabric_manager.reset();
  CHECK(troubles_of(one, healthy_node()).empty());
  CHECK(inside_lines(one, healthy_node()).back() ==
        "whether nv-fabricmanager runs can't be seen from here");

  one = healthy();
  one.mesh = MeshProxy{"Istio", {15001, 15006}};
  CHECK(only(one).cause == Cause::kOobMesh);
}

TEST_CASE("bridges that redirect, below a switch of GPUs and HCAs") {
  Tree tree;
  const std::string root = "devices/pci0000:40/0000:40:01.0", up = root + "/0000:41:00.0";
  const std::string left = up + "/0000:42:00.0", right = up + "/0000:42:01.0";
  facts::Node node;
  node.sysfs = tree.root();
  node.pci.gpus = {{"0000:43:00.0", left + "/0000:43:00.0"}};
  facts::Hca hca;
  hca.name = "mlx5_0";
  hca.device_path = right + "/0000:44:00.0";
  node.hcas.push_back(hca);
  // Between root ports nothing is to be redirected by a switch.
  tree.write(root + "/config", config_with(0x1d)).write(up + "/config", config_with(0x1d));
  tree.write(left + "/config", config_with(0x1d)).write(right + "/config", config_with(0x11));
  CHECK(redirecting_bridges(node) == std::vector<std::string>{"0000:42:00.0"});
  tree.write(left + "/config", config_with(0x11));
  CHECK(redirecting_bridges(node) == std::vector<std::string>{});
  // A chain of capabilities with a loop ends.
  std::string loop = config_with(0x1d);
  loop[0x148] = 2;
  loop[0x14a] = 0x01;
  loop[0x14b] = 0x10;
  tree.write(left + "/config", loop);
  CHECK(redirecting_bridges(node) == std::vector<std::string>{});
  // Who is not root reads 64 bytes.
  tree.write(left + "/config", std::string(64, 'x'));
  CHECK_FALSE(redirecting_bridges(node).has_value());
  // IOMMU groups of their own show it, one for all doesn't.
  const std::string gpu = left + "/0000:43:00.0", nic = right + "/0000:44:00.0";
  tree.folder("kernel/iommu_groups/40").folder("kernel/iommu_groups/41");
  const std::string up_there = "../../../../../../kernel/iommu_groups/";
  tree.link(gpu + "/iommu_group", up_there + "40").link(nic + "/iommu_group", up_there + "40");
  CHECK_FALSE(redirecting_bridges(node).has_value());
  std::filesystem::remove(std::filesystem::path(tree.root()) / (nic + "/iommu_group"));
  tree.link(nic + "/iommu_group", up_there + "41");
  CHECK(redirecting_bridges(node) == std::vector<std::string>{"0000:42:00.0", "0000:42:01.0"});

  Inside inside = healthy();
  inside.redirecting = {"0000:42:00.0"};
  CHECK(only(inside).cause == Cause::kGdrAcs);
  CHECK(only(inside).remedy.ends_with("setpci -s 0000:42:00.0 ECAP_ACS+0x6.w=0000"));
}

TEST_CASE("what a process can see of its node's inside") {
  Tree tree, sysfs;
  tree.write("dev/nvidia0", "").write("dev/nvidia11", "").write("dev/nvidiactl", "");
  tree.write("proc/self/cgroup", "0::/job/task\n")
      .write("sys/fs/cgroup/job/task/cpu.max", "max 100000\n")
      .write("sys/fs/cgroup/job/cpu.max", "50000 100000\n")
      .write("sys/fs/cgroup/job/pids.max", "500\n")
      .write("sys/fs/cgroup/job/pids.current", "499\n")
      .write("sys/fs/cgroup/job/task/pids.max", "max\n")
      .write("sys/fs/cgroup/job/task/pids.current", "20\n");
  tree.write("proc/cpuinfo", "flags\t\t: fpu hypervisor lahf_lm\n");
  tree.write("proc/self/net/tcp",
             "  sl  local_address rem_address   st\n"
             "   0: 00000000:3A99 00000000:0000 0A 0\n"
             "   1: 00000000:3A9E 00000000:0000 01 0\n");
  tree.write(
      "proc/self/net/tcp6",
      "   0: 00000000000000000000000000000000:3A9E 00000000000000000000000000000000:0000 0A 0\n");
  tree.write("proc/1/comm", "systemd\n").link("proc/self/ns/pid", "pid:[4026531836]");
  sysfs.write("class/dmi/id/sys_vendor", "Vendor\n")
      .write("class/dmi/id/product_name", "Machine\n");
  sysfs.write("bus/pci/devices/0000:0a:00.0/iommu_group/type", "DMA-FQ\n");
  facts::Node node;
  node.sysfs = sysfs.root();
  node.pci.gpus = {{"0000:0a:00.0", "devices/pci0000:00/0000:0a:00.0"}};
  node.pci.nvswitches = 1;

  const auto torchrun = variables({{"RANK", "0"},
                                   {"WORLD_SIZE", "4"},
                                   {"LOCAL_RANK", "0"},
                                   {"LOCAL_WORLD_SIZE", "4"},
                                   {"TORCHELASTIC_RUN_ID", "none"},
                                   {"NCCL_P2P_DISABLE", "0"},
                                   {"NCCL_P2P_LEVEL", "LOC"},
                                   {"CUDA_VISIBLE_DEVICES", "0,1"}});
  Inside seen = look_inside(node, tree.root(), torchrun);
  CHECK(seen.gpus == 2);
  REQUIRE(seen.cpus);
  CHECK(seen.cpus->usable == 0.5);
  CHECK(seen.cpus->by == "the CPU limit of /sys/fs/cgroup/job");
  REQUIRE(seen.threads);
  CHECK(seen.threads->used == 499);
  CHECK(seen.threads->by == "/sys/fs/cgroup/job/pids.max");
  CHECK(seen.virtual_machine == "Vendor Machine");
  REQUIRE(seen.mesh);
  CHECK(seen.mesh->mesh == "Istio or Kuma");
  CHECK(seen.translated == std::vector<std::string>{"0000:0a:00.0"});
  CHECK(seen.apart == std::vector<std::string>{"NCCL_P2P_LEVEL=LOC"});
  CHECK(seen.nvswitches == 1);
  CHECK(seen.fabric_manager == false);
  REQUIRE(seen.tasks);
  CHECK(seen.tasks->ranks == 4);
  CHECK(seen.tasks->gpus == 2);
  CHECK(seen.tasks->among == "CUDA_VISIBLE_DEVICES=0,1");

  tree.write("proc/77/comm", "nv-fabricmanage\n");
  tree.write("proc/self/net/tcp6", "");
  // What Slurm tells is the allocation's, whose tasks may be others than ranks.
  seen = look_inside(node, tree.root(),
                     variables({{"SLURM_PROCID", "0"},
                                {"SLURM_NTASKS", "2"},
                                {"SLURM_NTASKS_PER_NODE", "2"},
                                {"SLURM_LOCALID", "0"},
                                {"SLURM_JOB_ID", "7"},
                                {"CUDA_VISIBLE_DEVICES", "0"}}));
  CHECK(seen.fabric_manager == true);
  CHECK_FALSE(seen.mesh.has_value());
  CHECK_FALSE(seen.tasks.has_value());
  Tree container;
  container.write("dev/nvidia0", "").link("proc/self/ns/pid", "pid:[4026532001]");
  CHECK_FALSE(look_inside(node, container.root(), variables({})).fabric_manager.has_value());
}
