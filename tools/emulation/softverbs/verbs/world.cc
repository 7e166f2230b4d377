#include "softverbs/verbs/world.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace softverbs {

namespace {

std::string require(const char* variable) {
  const char* value = std::getenv(variable);
  if (!value || !*value) throw std::runtime_error(std::string(variable) + " is not set");
  return value;
}

// One moment for all processes of a fabric: the first to come writes it down.
std::chrono::system_clock::time_point fabric_start(const std::filesystem::path& dir) {
  using Time = std::chrono::system_clock;
  std::filesystem::create_directories(dir);
  const auto file = dir / "start";
  const auto own = dir / ("start." + std::to_string(::getpid()));
  std::ofstream(own) << Time::now().time_since_epoch().count() << "\n";
  [[maybe_unused]] const int linked = ::link(own.c_str(), file.c_str());  // fails if it is there
  std::filesystem::remove(own);
  Time::rep ticks = 0;
  std::ifstream(file) >> ticks;
  return Time::time_point(Time::duration(ticks));
}

void copy_name(char* to, std::size_t size, const std::string& name) {
  std::snprintf(to, size, "%s", name.c_str());
}

std::unique_ptr<Device> make_device(const Host& host, const Hca& hca) {
  auto device = std::make_unique<Device>();
  device->host = &host;
  device->hca = &hca;
  device->dev.node_type = IBV_NODE_CA;
  device->dev.transport_type = IBV_TRANSPORT_IB;
  copy_name(device->dev.name, sizeof device->dev.name, hca.name);
  copy_name(device->dev.dev_name, sizeof device->dev.dev_name, hca.uverbs);
  copy_name(device->dev.dev_path, sizeof device->dev.dev_path,
            "/sys/class/infiniband_verbs/" + hca.uverbs);
  copy_name(device->dev.ibdev_path, sizeof device->dev.ibdev_path,
            "/sys/class/infiniband/" + hca.name);
  return device;
}

World* build() {
  auto made = std::make_unique<World>(load_scenario(require("SOFTVERBS_SCENARIO")));
  const std::string name = require("SOFTVERBS_HOST");
  made->fabric_dir = require("SOFTVERBS_DIR");
  made->host = made->scenario.find_host(name);
  if (!made->host)
    throw std::runtime_error("SOFTVERBS_HOST is " + name + ", which is no host of " +
                             made->scenario.file.string());
  made->fabric_start = fabric_start(made->fabric_dir);
  for (const Hca& hca : made->host->hcas) made->devices.push_back(make_device(*made->host, hca));
  return made.release();  // lives as long as the process
}

}  // namespace

World& world() {
  static World* const instance = build();
  return *instance;
}

}  // namespace softverbs
