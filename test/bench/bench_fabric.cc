// What a stock libnccl's IB transport moves over the emulated fabric, with and without the shim:
// two pairs of ranks live side by side, one without and one with it, and take turns, so that a busy
// machine slows both.
//   bench_fabric LIBNCCL SCENARIO ROUNDS      prints JSON: {"8388608": {"plain": [ns...], "shim":
//   [ns...]}, ...}
// A time is that of the receiver, per message; filling and checking the data is part of both sides.
#include "compare.h"

namespace {

using nlohmann::json;

// A pair of ranks with one open link.
struct Pair {
  nnd::emulated::Fabric fabric;
  nnd::driver::Job job;
  std::vector<nnd::driver::Link> links;

  Pair(const bench::Arguments& arguments, bool shim)
      : fabric(softverbs::load_scenario(arguments.scenario),
               arguments.dir / (shim ? "shim" : "plain")),
        job({bench::rank_on(fabric, 0, "0"), bench::rank_on(fabric, 1, "1")}),
        links(1) {
    job.setup(bench::transport(arguments.nccl, shim));
    links[0].to = 1;
    job.open(links);
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

json measure(const bench::Arguments& arguments) {
  Pair plain(arguments, false), shim(arguments, true);
  json out;
  for (const Case& c : {Case{8, 500, 1}, Case{1 << 20, 24, 8}, Case{8 << 20, 6, 8}}) {
    nnd::driver::Traffic traffic;
    traffic.sizes = {c.bytes};
    traffic.repeat = c.messages;
    traffic.window = c.window;
    json& of = out[std::to_string(c.bytes)];
    for (int round = 0; round < arguments.rounds; ++round)
      for (bool with : {round % 2 == 0, round % 2 != 0})
        of[with ? "shim" : "plain"].push_back((with ? shim : plain).nanoseconds(traffic));
  }
  for (Pair* pair : {&plain, &shim}) {
    pair->job.close(pair->links);
    pair->job.finish();
    pair->job.exit();
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) { return bench::compare(argc, argv, measure); }
