#include "differential/healthy.h"

#include <filesystem>

#include "driver/fabric.h"
#include "driver/job.h"
#include "driver/nccl_cache.h"
#include "support/event_log.h"
#include "support/temp_dir.h"

namespace nnd::differential {

namespace fs = std::filesystem;

Node without_known_faults(Node node, const std::string& nccl) {
  const auto is = [&nccl](const char* release) { return nccl.starts_with(release); };
  // Older ones pick no GID by themselves, and those who run them set this.
  if (nccl < "2.21") node.environment["NCCL_IB_GID_INDEX"] = "3";
  // It tells of a receive over a merged device each port's whole message (v2.20.5-1
  // src/transport/net_ib.cc, ncclIbTest: sizes[0] += imm_data), and the driver checks sizes.
  if (is("2.20.")) node.environment["NCCL_IB_MERGE_NICS"] = "0";
  // Their core merges although it may not, and gives up (lint DEV-MERGE).
  if (is("2.24.") || is("2.25.")) node.environment.erase("NCCL_IB_MERGE_NICS");
  // Its core takes both ports of an HCA for one device with two planes, and gives up.
  if (is("2.32."))
    for (Hca& hca : node.hcas) hca.ports.resize(1);
  return node;
}

std::vector<std::string> complaints(const Node& node, const std::string& nccl) {
  const test::TempDir dir;
  emulated::Fabric fabric(softverbs::load_scenario(dir.file("scenario.toml", node.toml())),
                          dir.path() / "fabric");
  fs::create_directory(dir.path() / "logs");
  std::vector<driver::RankOptions> ranks;
  for (std::size_t rank = 0; rank < 2; ++rank) {
    ranks.push_back(fabric.rank(rank, std::to_string(rank)));
    auto& environment = ranks.back().environment;
    for (const auto& [name, value] : node.environment) environment[name] = value;
    environment["NCCL_NET_DIAG_FILE"] =
        dir.path() / "logs" / ("rank" + std::to_string(rank) + ".jsonl");
    environment["NCCL_NET_DIAG_STDERR"] = "off";
  }
  driver::Job job(std::move(ranks));
  job.setup({driver::cached_nccl(nccl).value(), "diag", ""});
  driver::Traffic traffic;
  traffic.sizes = {4096, 65536};
  job.carry(job.ring(job.device_count(0)), traffic);
  job.finish();
  job.exit();
  std::vector<std::string> out;
  for (const auto& event : test::read_logs(dir.path() / "logs"))
    if (event["sev"] != "info") out.push_back(event.dump());
  return out;
}

}  // namespace nnd::differential
