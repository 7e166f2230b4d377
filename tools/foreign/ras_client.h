// NCCL's RAS, asked on its port while the job runs, as NVIDIA's ncclras asks it.
#pragma once

#include <atomic>
#include <chrono>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "foreign/ras_status.h"

namespace nnd::foreign {

// Where NCCL listens: NCCL_RAS_ADDR, as "host:port"; by default "localhost:28028".
std::string ras_address();

// Its answer to STATUS in JSON. Nothing: nobody is there, it is no RAS, or it did not answer in
// that time. Takes at most 64 MiB.
std::optional<std::string> ask_ras(const std::string& address, std::chrono::milliseconds patience,
                                   const std::atomic<bool>& stop);

// Asks now and then, in the background. Of one thread.
class RasClient {
 public:
  explicit RasClient(std::string address) : address_(std::move(address)) {}
  // Gives up what is under way, within a tenth of a second.
  ~RasClient();
  RasClient(const RasClient&) = delete;
  RasClient& operator=(const RasClient&) = delete;

  // Takes up an answer that has come, and asks once more where the last question is 15 s old. Never
  // waits. True: there is a new answer.
  bool look();
  // The last two, the older one first: what stands for long is seen by both.
  const std::vector<RasStatus>& answers() const { return answers_; }

 private:
  std::string address_;
  std::atomic<bool> stop_{false};
  std::future<std::optional<std::string>> asked_;  // waits for its end when it is destroyed
  std::optional<std::chrono::steady_clock::time_point> asked_at_;
  std::vector<RasStatus> answers_;
};

}  // namespace nnd::foreign
