// The hosts of an emulated fabric, for processes that are started one by one.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "cli/tool.h"
#include "softverbs/scenario.h"

namespace nnd::cli_test {

class Places {
 public:
  explicit Places(const std::string& scenario) {
    namespace fs = std::filesystem;
    const auto parsed = softverbs::load_scenario(dir_.file("scenario.toml", scenario));
    fs::create_directories(dir_.path() / "fabric");
    for (const auto& host : parsed.hosts)
      hosts_.push_back(softverbs::materialize(parsed, host.name, dir_.path() / host.name,
                                              dir_.path() / "fabric"));
  }

  // What a process must have in its environment to be on that host.
  const Variables& environment(std::size_t host) const { return hosts_[host]; }
  // A file for each host, node0 and on, by which a shell gets there.
  void write_environments(const std::filesystem::path& dir) const {
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      std::ofstream file(dir / ("node" + std::to_string(i)));
      for (const auto& [name, value] : hosts_[i])
        file << "export " << name << "='" << value << "'\n";
    }
  }
  std::size_t count() const { return hosts_.size(); }
  const TemporaryDir& dir() const { return dir_; }

 private:
  TemporaryDir dir_;
  std::vector<Variables> hosts_;
};

}  // namespace nnd::cli_test
