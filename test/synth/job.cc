#include "synth/job.h"

#include <fmt/format.h>

#include <array>

#include "synth/cluster.h"

namespace nnd::synth {

const char* name_of(Fault fault) {
  constexpr std::array<const char*, static_cast<std::size_t>(Fault::kCount)> kNames{
      "none",      "cable",          "cable-told", "rail",         "wrong-subnet", "memlock",
      "node-died", "rank-died",      "rank-left",  "rank-missing", "rank-idle",    "stuck-hca",
      "slow-hca",  "other-variable", "plane",      "port",         "mismatched"};
  return kNames[static_cast<std::size_t>(fault)];
}

Planted write_job(const Spec& spec, const std::filesystem::path& directory) {
  Cluster cluster(spec);
  const Planted planted = plant(cluster);
  tell(cluster);
  for (int rank = 0; rank < spec.ranks; ++rank) {
    if (rank == cluster.absent) continue;
    cluster.log(rank).cut(cluster.ends[at(rank)]);
    cluster.log(rank).write(directory /
                            fmt::format("{}.{}.jsonl", cluster.host(rank), 1000 + rank));
  }
  return planted;
}

}  // namespace nnd::synth
