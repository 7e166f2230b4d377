#include "cli/demo_job.h"

#include <algorithm>

#include "driver/job.h"
#include "emulated/fabric.h"

namespace nnd::cli {

namespace {

constexpr std::size_t kBytes = std::size_t{4} << 20;

// A directory that is gone when the job has ended.
class Removed {
 public:
  explicit Removed(std::filesystem::path path) : path_(std::move(path)) {}
  ~Removed() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  Removed(const Removed&) = delete;
  Removed& operator=(const Removed&) = delete;

 private:
  std::filesystem::path path_;
};

}  // namespace

void run_demo_job(const DemoJob& demo) {
  const auto fabric_dir = demo.log_dir / "fabric";
  const Removed cleanup(fabric_dir);
  emulated::Fabric fabric(softverbs::load_scenario(demo.scenario), fabric_dir);
  std::vector<driver::RankOptions> ranks;
  for (int rank = 0; rank < demo.ranks; ++rank) {
    const auto name = std::to_string(rank);
    ranks.push_back(fabric.rank(static_cast<std::size_t>(rank), name));
    auto& environment = ranks.back().environment;
    environment["NCCL_NET_DIAG_FILE"] = demo.log_dir / ("rank" + name + ".jsonl");
    environment["RANK"] = name;
    environment["WORLD_SIZE"] = std::to_string(demo.ranks);
  }
  driver::Job job(std::move(ranks));
  job.setup({demo.nccl, "diag", ""});
  int channels = 0;
  for (int rank = 0; rank < demo.ranks; ++rank)
    channels = std::max(channels, job.device_count(rank));
  auto links = job.ring(channels);
  job.open(links);
  driver::Traffic traffic;
  traffic.sizes = {kBytes, 1, kBytes - 4097, 0};
  job.move(links, traffic);
  job.close(links);
  job.finish();
  job.exit();
}

}  // namespace nnd::cli
