// What the shim adds to init: eight processes at once on a node with many HCAs and full GID tables,
// without and with it in turns.
//   bench_init LIBNCCL SCENARIO ROUNDS     prints JSON: {"plain": [ns...], "shim": [ns...]}, one
//   time per process and round
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "driver/job.h"
#include "emulated/fabric.h"

namespace {

constexpr int kProcesses = 8;

void run(const char* nccl, const char* scenario, const std::filesystem::path& dir, bool shim,
         nlohmann::json& times) {
  nnd::emulated::Fabric fabric(softverbs::load_scenario(scenario), dir);
  std::vector<nnd::driver::RankOptions> ranks;
  for (int i = 0; i < kProcesses; ++i) {
    ranks.push_back(fabric.rank(0, std::to_string(i)));
    ranks.back().environment["NCCL_NET_DIAG_FILE"] = (dir / "%p.jsonl").string();
  }
  nnd::driver::Job job(ranks);
  nnd::driver::Transport transport;
  transport.nccl = nccl;
  (shim ? transport.plugin : transport.builtin) =
      shim ? nnd::emulated::plugin_file().string() : "IB";
  for (const auto& reply : job.setup(transport)) times.push_back(reply.at("init").at("ns"));
  job.finish();
  job.exit();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "bench_init LIBNCCL SCENARIO ROUNDS\n");
    return 2;
  }
  std::string directory = (std::filesystem::temp_directory_path() / "nnd-bench.XXXXXX").string();
  if (!mkdtemp(directory.data())) return 2;
  int result = 0;
  try {
    nlohmann::json out;
    for (int round = 0; round < std::atoi(argv[3]); ++round)
      for (bool shim : {round % 2 == 0, round % 2 != 0}) {
        const auto dir = std::filesystem::path(directory) / std::to_string(2 * round + shim);
        run(argv[1], argv[2], dir, shim, out[shim ? "shim" : "plain"]);
      }
    std::puts(out.dump().c_str());
  } catch (const std::exception& e) {
    std::fprintf(stderr, "bench_init: %s\n", e.what());
    result = 1;
  }
  std::filesystem::remove_all(directory);
  return result;
}
