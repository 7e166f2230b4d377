// What a stock libnccl's IB transport moves over the emulated fabric, with and without the shim:
// two pairs of ranks live side by side, one without and one with it, and take turns, so that a busy
// machine slows both.
//   bench_fabric LIBNCCL SCENARIO ROUNDS      prints JSON: {"8388608": {"plain": [ns...], "shim":
//   [ns...]}, ...}
// A time is that of the receiver, per message; filling and checking the data is part of both sides.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "driver/job.h"
#include "emulated/fabric.h"

namespace {

using nlohmann::json;

// A pair of ranks with one open link.
struct Pair {
  nnd::emulated::Fabric fabric;
  nnd::driver::Job job;
  std::vector<nnd::driver::Link> links;

  Pair(const std::string& nccl, const std::string& scenario, const std::filesystem::path& dir,
       bool shim)
      : fabric(softverbs::load_scenario(scenario), dir), job(ranks()), links(1) {
    nnd::driver::Transport transport;
    transport.nccl = nccl;
    (shim ? transport.plugin : transport.builtin) =
        shim ? nnd::emulated::plugin_file().string() : "IB";
    job.setup(transport);
    links[0].to = 1;
    job.open(links);
  }

  std::vector<nnd::driver::RankOptions> ranks() {
    std::vector<nnd::driver::RankOptions> options;
    for (std::size_t host : {std::size_t{0}, std::size_t{1}}) {
      options.push_back(fabric.rank(host, std::to_string(host)));
      options.back().environment["NCCL_NET_DIAG_FILE"] = (fabric.dir() / "%p.jsonl").string();
    }
    return options;
  }

  double nanoseconds(const nnd::driver::Traffic& traffic) {
    const json reply = job.try_move(links[0], traffic);
    if (reply.at("recv").at("rc") != 0) throw std::runtime_error(reply.dump());
    return reply["recv"]["ns"].get<double>() / reply["recv"]["messages"].get<double>();
  }
};

struct Case {
  std::size_t bytes, messages, window;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "bench_fabric LIBNCCL SCENARIO ROUNDS\n");
    return 2;
  }
  std::string directory = (std::filesystem::temp_directory_path() / "nnd-bench.XXXXXX").string();
  if (!mkdtemp(directory.data())) return 2;
  int result = 0;
  try {
    Pair plain(argv[1], argv[2], std::filesystem::path(directory) / "plain", false);
    Pair shim(argv[1], argv[2], std::filesystem::path(directory) / "shim", true);
    json out;
    for (const Case& c : {Case{8, 500, 1}, Case{1 << 20, 24, 8}, Case{8 << 20, 6, 8}}) {
      nnd::driver::Traffic traffic;
      traffic.sizes = {c.bytes};
      traffic.repeat = c.messages;
      traffic.window = c.window;
      json& of = out[std::to_string(c.bytes)];
      for (int round = 0; round < std::atoi(argv[3]); ++round)
        for (bool with : {round % 2 == 0, round % 2 != 0})
          of[with ? "shim" : "plain"].push_back((with ? shim : plain).nanoseconds(traffic));
    }
    for (Pair* pair : {&plain, &shim}) {
      pair->job.close(pair->links);
      pair->job.finish();
      pair->job.exit();
    }
    std::puts(out.dump().c_str());
  } catch (const std::exception& e) {
    std::fprintf(stderr, "bench_fabric: %s\n", e.what());
    result = 1;
  }
  std::filesystem::remove_all(directory);
  return result;
}
