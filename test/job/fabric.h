// Jobs over the shim on the emulated fabric, and what it logged.
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "job/jobs.h"
#include "support/temp_dir.h"

namespace nnd::test {

// A job on the smallest of this directory's scenarios that has room for it (or on another one: a
// file, or TOML text where it has a newline), with NCCL_NET_PLUGIN=diag, each rank logging to a
// file of its own.
class FabricJob {
 public:
  explicit FabricJob(int gpus_per_node, int nodes = 2, const std::string& scenario = {});

  softcuda::JobSpec spec;  // to be changed before run()
  // Checks that the job left nothing in /dev/shm.
  softcuda::JobResult run(const softcuda::JobStop& stop = {},
                          const softcuda::JobProgress& progress = {});

  // The events of a rank, in its order.
  std::vector<nlohmann::json> events(int rank) const;
  std::vector<nlohmann::json> events(int rank, const std::string& name) const;
  // Every rank has loaded the plugin, which saw its HCAs, connections and QPs. Catch2 assertions.
  void check_carried() const;
  // From here on NCCL's library is a stripped copy of it. binutils are among the project's
  // packages.
  void strip_nccl();
  const std::filesystem::path& dir() const { return directory_.path(); }

 private:
  TempDir directory_;
};

}  // namespace nnd::test
