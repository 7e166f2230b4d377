// What the ranks of one task did and logged, typed; and as JSON, since tasks send it to task 0.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/common/checked_json.h"
#include "cli/common/troubles.h"
#include "log/job.h"
#include "log/reader.h"
#include "softcuda/job.h"

namespace nnd::cli {

// A collective of one size, after its warm-up.
struct CollectiveRun {
  std::string collective;
  std::uint64_t bytes = 0;
  int iterations = 0;
  double ms = 0;
};

// A channel of NCCL's, over the network.
struct ChannelUse {
  int channel = 0, peer_rank = 0;
  log::Direction dir = log::Direction::kSend;
  std::string hca;  // "mlx5_0:1"; two merged HCAs are one, "mlx5_0+mlx5_1:1"
};

struct RankReport {
  int rank = 0;
  std::string host;
  bool done = false;
  bool played = true;   // false: softcuda does not play this libnccl, or what the job asked of it
  int nccl = 0;         // 22809; 0: libnccl was not loaded
  std::string network;  // "IB", "Socket"; empty where NCCL did not say
  std::vector<std::string> nccl_warnings;
  std::vector<CollectiveRun> collectives;
  std::vector<ChannelUse> channels;
};

struct ConnectionReport {
  std::optional<int> rank;  // unknown where the log does not tell
  std::string host, hca;
  log::Direction dir = log::Direction::kSend;
  log::Link link;
  std::optional<int> channel;
  std::optional<double> ready_us;
  std::optional<std::uint64_t> bytes, failed;
};

// One per host, HCA and port, however many ranks saw it.
struct HcaReport {
  std::string host, verdict;
  log::Dev dev;
  std::vector<std::string> reasons;
};

struct TaskReport {
  std::vector<RankReport> ranks;
  std::vector<ConnectionReport> connections;
  std::vector<HcaReport> hcas;
  std::vector<Trouble> troubles;
  std::vector<std::string> failures, notes;  // notes: what is missing in this
};

inline constexpr std::size_t kMostTroubles = 1000;  // of one report; a note says if there were more

// host_of: by rank. job: of the ranks' logs; left_out: what of them could not be read
// (event_json.h).
TaskReport make_task_report(const softcuda::JobResult& result, double deadline_sec,
                            const std::function<std::string(int)>& host_of, const log::Job& job,
                            const std::string& left_out);

nlohmann::json to_json(const RankReport& rank);
nlohmann::json to_json(const ConnectionReport& connection);
nlohmann::json to_json(const HcaReport& hca);
nlohmann::json to_json(const TaskReport& part);
// What another task sent. Throws BadMessage.
TaskReport task_report_from(const Fields& fields);

}  // namespace nnd::cli
