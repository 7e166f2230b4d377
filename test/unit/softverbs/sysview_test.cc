#include "softverbs/sysview.h"

#include <dlfcn.h>

#include <cstdlib>
#include <fstream>
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
  REQUIRE(softverbs::redirect_sysfs(reader.module, stage.sysfs("node0").string()) == "");

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

TEST_CASE("what cannot be redirected says why") {
  const Reader reader;
  CHECK(softverbs::redirect_sysfs(reader.module, "/nowhere/at/all").find("/nowhere/at/all") == 0);
}
