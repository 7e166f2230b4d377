// What the benchmarks over the emulated fabric share: PROGRAM LIBNCCL SCENARIO ROUNDS prints JSON.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "driver/fabric.h"
#include "driver/job.h"

namespace bench {

struct Arguments {
  std::string nccl, scenario;
  int rounds = 0;
  std::filesystem::path dir;  // of this run, removed after it
};

// Runs `measure` and prints what it returns. The program's exit status: 2 for a wrong call, 1 when
// it threw.
int compare(int argc, char** argv, nlohmann::json (*measure)(const Arguments& arguments));

// A rank on a host of the fabric, with an event log in the fabric's directory.
nnd::driver::RankOptions rank_on(nnd::emulated::Fabric& fabric, std::size_t host,
                                 const std::string& name);

// NCCL's own IB transport, as it is or through the shim.
nnd::driver::Transport transport(const std::string& nccl, bool shim);

}  // namespace bench
