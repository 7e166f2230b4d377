#include "softverbs/hostview.h"

#include <dlfcn.h>
#include <sched.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>

#include "stage.h"
#include "support/catch.h"

namespace fs = std::filesystem;

namespace {

struct Reader {
  void* module = ::dlopen(NND_SYSVIEW_FIXTURE, RTLD_NOW | RTLD_LOCAL);
  template <typename Function>
  Function* function(const char* name) const {
    return reinterpret_cast<Function*>(::dlsym(module, name));
  }
};

}  // namespace

TEST_CASE("a module sees the scenario's sysfs, and only under /sys") {
  stage::Stage stage("[[host]]\n[[host.hca]]\nname = \"mlx5_77\"\n");
  const Reader reader;
  REQUIRE(reader.module);
  REQUIRE(softverbs::show_host(reader.module, stage.sysfs("node0").string()) == "");

  char text[256] = {};
  const char* state = "/sys/class/infiniband/mlx5_77/ports/1/state";
  CHECK(reader.function<int(const char*, char*, std::size_t)>("reader_open")(state, text, 256) > 0);
  CHECK(std::string(text) == "4: ACTIVE\n");
  CHECK(reader.function<int(const char*, char*, int)>("reader_fopen")(state, text, 256) > 0);
  CHECK(reader.function<int(const char*)>("reader_access")(state) == 0);
  CHECK(reader.function<int(const char*)>("reader_stat")(state) == 0);
  CHECK(reader.function<int(const char*)>("reader_entries")("/sys/class/infiniband") == 3);

  const std::unique_ptr<char, decltype(&std::free)> real(
      reader.function<char*(const char*)>("reader_realpath")(
          "/sys/class/infiniband/mlx5_77/device"),
      &std::free);
  REQUIRE(real);
  CHECK(std::string(real.get()) == "/sys/devices/pci0000:0f/0000:0f:01.0/0000:10:00.0");

  const auto access = reader.function<int(const char*)>("reader_access");
  CHECK(access("/proc/self/status") == 0);
  CHECK(access("/sys/class/infiniband/mlx5_78") != 0);
  CHECK(access("/system") != 0);
  // This program's own calls go where they always went.
  CHECK_FALSE(fs::exists("/sys/class/infiniband/mlx5_77"));
}

TEST_CASE("what NCCL asks of a machine outside /sys is the scenario's too") {
  stage::Stage stage("[[host]]\nname = \"dgx7\"\ncpu = \"amd-rome\"\n[[host.hca]]\nnuma = 1\n");
  const Reader reader;
  REQUIRE(reader.module);
  REQUIRE(softverbs::show_host(reader.module, stage.sysfs("dgx7").string()) == "");

  char text[256] = {};
  REQUIRE(setenv("SOFTVERBS_HOST", "dgx7", 1) == 0);
  CHECK(reader.function<int(char*, std::size_t)>("reader_host_name")(text, sizeof text) == 0);
  CHECK(std::string(text) == "dgx7");
  unsetenv("SOFTVERBS_HOST");
  const auto open = reader.function<int(const char*, char*, int)>("reader_fopen");
  CHECK(open("/var/run/nvidia-topologyd/virtualTopology.xml", text, sizeof text) > 0);
  CHECK(std::string(text) == "<system version=\"1\">\n");
  // The machine that this runs on may have them.
  const auto access = reader.function<int(const char*)>("reader_access");
  for (const char* file : {"/etc/nccl.conf", "/root/.nccl.conf", "/var/log", "/dev/kmsg"}) {
    INFO(file);
    CHECK(access(file) != 0);
  }
  CHECK(reader.function<int()>("reader_allowed_cpus")() == CPU_SETSIZE);
  CHECK(reader.function<int(int)>("reader_choose_cpu")(CPU_SETSIZE - 1) == 0);
}

TEST_CASE("a topology file answers what NCCL would ask the processor") {
  stage::Stage stage(
      "[[host]]\ncpu = \"amd-rome\"\n[[host.hca]]\nnuma = 1\n[[host.gpu]]\nnuma = -1\n");
  std::ifstream file(stage.sysfs("node0") / softverbs::stands_for(softverbs::kTopologyFile));
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const std::string cpu =
      "arch=\"x86_64\" vendor=\"AuthenticAMD\" familyid=\"143\" modelid=\"49\"/>\n";
  CHECK(text ==
        "<system version=\"1\">\n"
        "  <cpu numaid=\"0\" affinity=\"ffffffff\" " +
            cpu + "  <cpu numaid=\"1\" affinity=\"ffffffff,00000000\" " + cpu +
            "  <cpu numaid=\"-1\" affinity=\"ffffffff\" " + cpu + "</system>\n");
}

TEST_CASE("what cannot be redirected says why") {
  const Reader reader;
  CHECK(softverbs::show_host(reader.module, "/nowhere/at/all").find("/nowhere/at/all") == 0);
}
