// Weeks of a job in minutes: connections made, used and closed without end. What the processes hold
// stays what it was, the logs stay under their limit, and what goes wrong at last is in them.
#include <infiniband/verbs.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "carry.h"
#include "held.h"
#include "integration/harness.h"
#include "nccl_net_diag/events.h"
#include "softverbs/control.h"
#include "support/event_log.h"

using namespace nnd;
using namespace nnd::integration;

namespace {

constexpr std::uintmax_t kMib = 1 << 20;

// A little log.
const std::map<std::string, std::string> kEnvironment = {{"NCCL_NET_DIAG_MAX_MB", "4"},
                                                         {"NCCL_IB_GID_INDEX", "3"}};

long wanted_connections() {
  const char* asked = std::getenv("NND_SOAK_CONNECTIONS");
  return asked == nullptr ? 200'000 : std::atol(asked);
}

// How many logs are full and have begun both of their files of the last lines.
long full_logs(const std::filesystem::path& dir) {
  return std::count_if(std::filesystem::directory_iterator(dir), {}, [](const auto& entry) {
    return entry.path().string().ends_with(nccl_net_diag::kTailEndings[1]);
  });
}

}  // namespace

TEST_CASE("a job that makes connections for weeks holds no more than at its beginning") {
  const long connections = wanted_connections();
  EmulatedJob job(two_hosts(), 2, kEnvironment);
  job->setup(shim());
  // Every table has its size, and the log its most: a rank that logs into both files of the last
  // lines has opened all that it will.
  long carried = 0;
  while (carried < connections && full_logs(job.log_dir()) < 2) {
    soak::carry(job, connections / 10);
    carried += connections / 10;
  }
  CHECK(full_logs(job.log_dir()) == 2);
  const auto before = soak::held_by(*job);
  soak::carry(job, connections - connections / 10);
  CHECK(soak::hold_no_more(*job, before));

  std::vector<driver::Link> last(1);
  last[0].to = 1;
  job->open(last);
  softverbs::Control(job.fabric().meeting_place())
      .raise_event("node1", "mlx5_0", 1, IBV_EVENT_DEVICE_FATAL);
  // NCCL's own thread takes the event.
  for (int i = 0; i < 6000 && of_severity(job.log(1), "error").empty(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  job->close(last);
  job->finish();
  job->exit();

  for (int rank = 0; rank < 2; ++rank) {
    const auto file = job.log_dir() / ("rank" + std::to_string(rank) + ".jsonl");
    CHECK(std::filesystem::file_size(file) <= 4 * kMib);
  }
  const auto log = job.log(1);
  const auto errors = of_severity(log, "error");
  REQUIRE(errors.size() == 1);
  CHECK(errors[0]["cause"] == "ASYNC-FATAL");
  CHECK(errors[0]["dev"]["name"] == "mlx5_0");
  CHECK(of_kind(log, "summary").size() == 1);
}
