#include "facts/system.h"

#include <cerrno>

#include "facts/gdr.h"
#include "support/catch.h"
#include "tree.h"

using namespace nnd::facts;
using nnd::facts::test::Tree;

namespace {

using Values = std::map<std::string, std::string, std::less<>>;

System read(const Tree& tree, const Environment& environment) {
  return read_system({FileTree(tree.root()), tree.root(), tree.root() + "/home", environment});
}

}  // namespace

TEST_CASE("system facts of a GPU node") {
  Tree tree;
  tree.write("proc/sys/kernel/osrelease", "5.15.0-113-generic\n")
      .write("proc/driver/nvidia/version",
             "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.90.07  Release Build\n"
             "GCC version: gcc 12\n")
      .write("proc/cmdline", "ro quiet intel_iommu=on iommu=pt pci=disable_acs_redir=x\n")
      .write("proc/self/status", "Name:\tx\nCapEff:\t0000000000004000\n")
      .write("module/mlx5_core/version", "23.10-1.1.9\n")
      .write("home/.nccl.conf", "# NCCL_A=1\nNCCL_DEBUG=INFO\nno value\nNCCL_X=a=b\nNCCL_TOKEN=s\n")
      .folder("dev/infiniband");
  const System system = read(tree, Environment({{"NCCL_IB_PKEY", "1"},
                                                {"NCCL_API_TOKEN", "hush"},
                                                {"NCCL_NET_DIAG_MODE", "warn"},
                                                {"NCCL_NET_DIAG_TOKN", "hush"},
                                                {"NCCL_X_PKEY_TOKEN", "t"},
                                                {"UCX_TLS", "rc"},
                                                {"PATH", "/bin"}}));
  CHECK(system.kernel_major == 5);
  CHECK(system.kernel_minor == 15);
  CHECK(system.gpu_driver == "550.90.07");
  CHECK(system.gpu_driver_open == true);
  CHECK(system.iommu == "intel_iommu=on iommu=pt pci=disable_acs_redir=x");
  CHECK(system.limits.cap_ipc_lock);
  CHECK(system.limits.nofile_soft > 0);
  CHECK(system.ofed == "23.10-1.1.9");
  CHECK(system.dev_infiniband);
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  CHECK(system.environment == Pairs{{"NCCL_API_TOKEN", "<hidden>"},
                                    {"NCCL_IB_PKEY", "1"},
                                    {"NCCL_NET_DIAG_MODE", "warn"},
                                    {"NCCL_NET_DIAG_TOKN", "<hidden>"},
                                    {"NCCL_X_PKEY_TOKEN", "<hidden>"},
                                    {"UCX_TLS", "rc"}});
  REQUIRE(system.conf_files.size() == 1);
  CHECK(system.conf_files[0].values ==
        Pairs{{"NCCL_DEBUG", "INFO"}, {"NCCL_X", "<hidden>"}, {"NCCL_TOKEN", "<hidden>"}});
}

TEST_CASE("the topology file is NCCL's own, or the one that is named and there") {
  Tree tree;
  const auto file = [&](Values values) {
    return read(tree, Environment(std::move(values))).topology_file;
  };
  CHECK(file({}).empty());
  CHECK(file({{"NCCL_TOPO_FILE", "/opt/topo.xml"}}).empty());
  tree.write("opt/topo.xml", "<system/>");
  CHECK(file({{"NCCL_TOPO_FILE", "/opt/topo.xml"}}) == "/opt/topo.xml");
  CHECK(file({{"NCCL_TOPO_FILE", "topo.xml"}}) == "topo.xml");
  tree.write("var/run/nvidia-topologyd/virtualTopology.xml", "<system/>");
  CHECK(file({}) == "/var/run/nvidia-topologyd/virtualTopology.xml");
  CHECK(file({{"NCCL_TOPO_FILE", "/gone.xml"}}).empty());
}

TEST_CASE("the environment's hash tells two nodes apart") {
  Tree tree;
  const auto hash = [&](Values values) {
    return read(tree, Environment(std::move(values))).environment_hash;
  };
  CHECK(hash({{"NCCL_A", "1"}}) == hash({{"NCCL_A", "1"}, {"HOME", "/x"}}));
  CHECK(hash({{"NCCL_A", "1"}}) != hash({{"NCCL_A", "2"}}));
  CHECK(hash({{"NCCL_A", "1"}}) != hash({}));
  CHECK(hash({{"NCCL_A", "1"}}) == hash({{"NCCL_A", "1"}, {"NCCL_NET_DIAG_FILE", "x"}}));
  // All short secrets can be tried.
  CHECK(hash({{"NCCL_DOOR_CODE", "4711"}}) == hash({{"NCCL_DOOR_CODE", "4712"}}));
}

TEST_CASE("a library's version from its file name") {
  CHECK(library_version("/usr/lib/libibverbs.so.1.14.48.0") == "1.14.48.0");
  CHECK(library_version("/usr/lib/libibverbs.so.1").empty());
  CHECK(library_version("/usr/lib/libibverbs.so").empty());
}

TEST_CASE("a named configuration file replaces the one at home") {
  Tree tree;
  tree.write("home/.nccl.conf", "A=1\n").write("etc/nccl.conf", "B=1\n").write("other", "C=1\n");
  const System system = read(tree, Environment({{"NCCL_CONF_FILE", tree.root() + "/other"}}));
  REQUIRE(system.conf_files.size() == 2);
  CHECK(system.conf_files[0].values[0].first == "C");
  CHECK(system.conf_files[1].path == "/etc/nccl.conf");
  CHECK(read(tree, Environment()).conf_files[0].values[0].first == "A");
}

TEST_CASE("what the first process has and this one lacks") {
  Tree tree;
  tree.write("proc/1/environ", std::string("PATH=/bin\0NCCL_DEBUG=INFO\0NCCL_IB_HCA=mlx5\0", 43));
  CHECK(read(tree, Environment(Values{{"NCCL_DEBUG", "WARN"}})).missing_from_init ==
        std::vector<std::string>{"NCCL_IB_HCA"});
}

TEST_CASE("a bare container") {
  Tree tree;
  const System system = read(tree, Environment(Values{{"KUBERNETES_SERVICE_HOST", "10.0.0.1"}}));
  CHECK(system.kernel.empty());
  CHECK(system.kernel_major == 0);
  CHECK_FALSE(system.gpu_driver_loaded);
  CHECK_FALSE(system.gpu_driver_open.has_value());
  CHECK_FALSE(system.limits.cap_ipc_lock);
  CHECK(system.container == std::vector<std::string>{"KUBERNETES_SERVICE_HOST"});
}

TEST_CASE("peer memory's files") {
  Tree tree;
  const FileTree sysfs(tree.root());
  CHECK_FALSE(read_peer_memory(sysfs, 0).nccl_sees());
  tree.write("module/nvidia_peermem/version", "550.90.07\n")
      .write("module/nvidia_peermem/initstate", "live\n");
  CHECK(read_peer_memory(sysfs, 0).nccl_sees());
  CHECK(read_peer_memory(sysfs, 0).half_loaded);
  tree.write("kernel/mm/memory_peers/nv_mem/version", "550.90.07\n");
  CHECK_FALSE(read_peer_memory(sysfs, 0).half_loaded);
  tree.write("module/nvidia_peermem/initstate", "going\n");
  CHECK(read_peer_memory(sysfs, 0).half_loaded);
}

TEST_CASE("peer memory's files as each release sees them") {
  struct Sign {
    const char* file;
    int first;  // release that takes it for peer memory
    int last;
  };
  const auto sign = GENERATE(Sign{"kernel/mm/memory_peers/nv_mem/version", 21801, 23203},
                             Sign{"kernel/mm/memory_peers/nvidia-peermem/version", 21801, 22105},
                             Sign{"kernel/mm/memory_peers/nv_mem_nc/version", 22203, 23203},
                             Sign{"module/nvidia_peermem/version", 22304, 23203});
  Tree tree;
  tree.write(sign.file, "550.90.07\n");
  const FileTree sysfs(tree.root());
  INFO(sign.file);
  for (const int version : {21801, 21803, 21904, 22005, 22105, 22203, 22304, 22809, 23203}) {
    CAPTURE(version);
    CHECK(read_peer_memory(sysfs, version).nccl_sees() ==
          (version >= sign.first && version <= sign.last));
  }
}

namespace {

GdrInput with_gpus() {
  GdrInput node;
  node.nvidia_driver = true;
  node.open_driver = true;
  node.kernel_major = 5;
  node.kernel_minor = 15;
  return node;
}

}  // namespace

TEST_CASE("a module that an older NCCL doesn't see is no way, and why") {
  PeerMemory loaded;
  loaded.nv_mem = false;
  loaded.nvidia_peermem = loaded.api = true;
  loaded.nccl_version = 21904;
  GdrInput node = with_gpus();
  node.open_driver = false;
  const GdrState state = judge_gdr(loaded, node);
  CHECK(state.way == GdrWay::kNone);
  CHECK(state.why.find("2.23") != std::string::npos);
}

TEST_CASE("which way GPUDirect goes, and why") {
  PeerMemory none;
  PeerMemory bound;
  bound.nv_mem = bound.nvidia_peermem = bound.api = true;
  const GdrInput node = with_gpus();

  GdrInput capable = node;
  capable.dmabuf_errno = EBADF;
  CHECK(judge_gdr(none, capable).way == GdrWay::kDmabuf);
  CHECK(judge_gdr(bound, capable).way == GdrWay::kDmabuf);

  GdrInput closed = capable;
  closed.open_driver = false;
  CHECK(judge_gdr(none, closed).way == GdrWay::kNone);
  CHECK(judge_gdr(none, closed).why.find("closed") != std::string::npos);
  CHECK(judge_gdr(bound, closed).way == GdrWay::kPeermem);

  GdrInput old_kernel = capable;
  old_kernel.kernel_minor = 4;
  CHECK(judge_gdr(none, old_kernel).way == GdrWay::kNone);
  CHECK(judge_gdr(none, old_kernel).why.find("kernel 5.4") != std::string::npos);

  GdrInput incapable = node;
  incapable.dmabuf_errno = EOPNOTSUPP;
  CHECK(judge_gdr(none, incapable).way == GdrWay::kNone);
  CHECK(judge_gdr(none, incapable).dmabuf == false);

  CHECK(judge_gdr(none, node).way == GdrWay::kUnknown);
  CHECK_FALSE(judge_gdr(none, node).dmabuf.has_value());
  CHECK(judge_gdr(bound, node).way == GdrWay::kPeermem);

  GdrInput no_gpu = node;
  no_gpu.nvidia_driver = false;
  CHECK(judge_gdr(none, no_gpu).way == GdrWay::kNone);
}

TEST_CASE("the GPU's driver knows better than its files what its GPUs can") {
  PeerMemory bound;
  bound.nv_mem = bound.nvidia_peermem = bound.api = true;
  GdrInput node = with_gpus();
  node.dmabuf_errno = EBADF;
  node.gpu_rdma = true;
  node.gpu_dmabuf = true;
  CHECK(judge_gdr({}, node).way == GdrWay::kDmabuf);
  GdrInput no_dmabuf = node;
  no_dmabuf.gpu_dmabuf = false;
  CHECK(judge_gdr(bound, no_dmabuf).way == GdrWay::kPeermem);
  CHECK(judge_gdr({}, no_dmabuf).way == GdrWay::kNone);
  CHECK(judge_gdr({}, no_dmabuf).why.find("GPU driver says") != std::string::npos);
  GdrInput closed = node;
  closed.open_driver = false;
  CHECK(judge_gdr({}, closed).way == GdrWay::kDmabuf);
  GdrInput consumer = node;
  consumer.gpu_rdma = false;
  CHECK(judge_gdr(bound, consumer).way == GdrWay::kNone);
  CHECK(judge_gdr(bound, consumer).gpu_lacks);
  CHECK_FALSE(judge_gdr(bound, node).gpu_lacks);
}

TEST_CASE("the limit on locked memory binds where it is known and no capability lifts it") {
  CHECK(locked_memory({65536, 65536, 1024, 1024, false}).binds());
  CHECK(locked_memory({0, 0, 1024, 1024, false}).binds());
  CHECK_FALSE(locked_memory({65536, 65536, 1024, 1024, true}).binds());
  CHECK_FALSE(locked_memory({UINT64_MAX, UINT64_MAX, 1024, 1024, false}).binds());
  CHECK_FALSE(locked_memory(Limits{}).binds());  // nobody looked
}
