// What the shim adds to init on a node with many HCAs and full GID tables, without and with it in
// turns: eight processes at once, as a node has, and two, each with a core of a small machine.
//   bench_init LIBNCCL SCENARIO ROUNDS     prints JSON: {"2": {"plain": [ns...], "shim": [ns...]},
//   "8": ...}, one time per process and round
#include "compare.h"

namespace {

void run(const bench::Arguments& arguments, const std::filesystem::path& dir, int processes,
         bool shim, nlohmann::json& times) {
  nnd::emulated::Fabric fabric(softverbs::load_scenario(arguments.scenario), dir);
  std::vector<nnd::driver::RankOptions> ranks;
  for (int i = 0; i < processes; ++i) ranks.push_back(bench::rank_on(fabric, 0, std::to_string(i)));
  nnd::driver::Job job(ranks);
  for (const auto& reply : job.setup(bench::transport(arguments.nccl, shim)))
    times.push_back(reply.at("init").at("ns"));
  job.finish();
  job.exit();
}

nlohmann::json measure(const bench::Arguments& arguments) {
  nlohmann::json out;
  for (int processes : {2, 8})
    for (int round = 0; round < arguments.rounds; ++round)
      for (bool shim : {round % 2 == 0, round % 2 != 0}) {
        const std::string name = std::to_string(processes);
        run(arguments, arguments.dir / (name + "." + std::to_string(2 * round + shim)), processes,
            shim, out[name][shim ? "shim" : "plain"]);
      }
  return out;
}

}  // namespace

int main(int argc, char** argv) { return bench::compare(argc, argv, measure); }
