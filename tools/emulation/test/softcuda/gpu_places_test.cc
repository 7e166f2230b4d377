#include "softcuda/gpu_places.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "support/catch.h"
#include "support/temp_dir.h"

using namespace softcuda;
namespace fs = std::filesystem;

namespace {

class Directory : public nnd::test::TempDir {
 public:
  fs::path write(const std::string& file, const std::string& text) const {
    fs::create_directories((path() / file).parent_path());
    std::ofstream(path() / file) << text;
    return path() / file;
  }
};

}  // namespace

TEST_CASE("GPUs of a sysfs are NVIDIA's display and 3D controllers") {
  const Directory dir;
  const auto device = [&](const std::string& place, const char* vendor, const char* what) {
    dir.write("bus/pci/devices/" + place + "/vendor", std::string(vendor) + "\n");
    dir.write("bus/pci/devices/" + place + "/class", std::string(what) + "\n");
  };
  device("0000:9d:00.0", "0x10de", "0x030200");
  device("0000:1b:00.0", "0x10de", "0x030000");
  device("0000:1b:00.1", "0x10de", "0x040300");  // its audio
  device("0000:05:00.0", "0x10de", "0x068000");  // an NVSwitch
  device("0000:03:00.0", "0x1a03", "0x030000");  // the board's own display
  const auto gpus = gpus_of_sysfs(dir.path());
  REQUIRE(gpus.size() == 2);
  CHECK(to_string(gpus[0]) == "0000:1b:00.0");
  CHECK(to_string(gpus[1]) == "0000:9d:00.0");
  CHECK(gpus_of_sysfs(dir.path() / "none").empty());
}

// std::regex recurses for each character that an element has.
TEST_CASE("a topology of one element without an end, or of a million, ends the search soon") {
  constexpr std::size_t kLong = 4 << 20;
  CHECK(gpus_of_topology("<pci " + std::string(kLong, 'a')).empty());
  std::string many;
  while (many.size() < kLong) many += "<pci class=";
  CHECK(gpus_of_topology(many).empty());
  CHECK(gpus_of_topology(many + ">").empty());
}

TEST_CASE("GPUs of a topology file keep its order") {
  const auto gpus = gpus_of_topology(R"(<system version="1">
  <cpu numaid="0"><pci busid="0000:9d:00.0" class="0x030200"
        vendor="0x10de"><gpu dev="0"/></pci>
    <pci busid="ffff:ff:01.0" class="0x060400"><pci class="0x030200" busid="0000:1b:00.0"/></pci>
    <pci busid="0000:0c:00.0" class="0x020000"><nic/></pci></cpu></system>)");
  REQUIRE(gpus.size() == 2);
  CHECK(to_string(gpus[0]) == "0000:9d:00.0");
  CHECK(to_string(gpus[1]) == "0000:1b:00.0");
  CHECK(gpus_of_topology("<system/>").empty());
  CHECK(gpus_of_topology("<pci busid=\"0000:9d:00.0\" class=\"0x030200").empty());
  CHECK(gpus_of_topology("<pci subbusid=\"0000:9d:00.0\" class=\"0x030200\">").empty());
}
