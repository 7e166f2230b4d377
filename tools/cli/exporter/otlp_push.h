// Sends each look to a receiver of OTLP, in a thread of its own: whatever the receiver does, looks
// and scrapes go on. One request is kept, the newest: sums are cumulative, so that it says all that
// those before it said.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "cli/exporter/http_post.h"
#include "cli/exporter/otlp.h"

namespace nnd::cli {

// When to try again what failed.
class Backoff {
 public:
  // After a failure: seconds to wait. jitter: from 0 to 1. asked: what the receiver wants at least.
  double next(double jitter, std::optional<unsigned> asked_sec = std::nullopt);
  void reset() { sec_ = kFirstSec; }

  static constexpr double kFirstSec = 1, kLongestSec = 60, kMostAskedSec = 300;

 private:
  double sec_ = kFirstSec;
};

// What came of a request, for people; empty: it was taken.
std::string complaint_of(const Posted& posted);
// Whether the same may be sent again (docs/specification.md, "Retryable Response Codes").
bool may_be_sent_again(const Posted& posted);

class OtlpPush {
 public:
  OtlpPush(HttpUrl to, const std::string& host);
  // Within 50 ms, but for a search of the host's name that goes on: that is left to itself.
  ~OtlpPush();
  OtlpPush(const OtlpPush&) = delete;
  OtlpPush& operator=(const OtlpPush&) = delete;

  void send(const Families& families);

 private:
  // The thread's too: it may outlive the object.
  struct Shared {
    HttpUrl to;
    std::mutex mutex;
    std::condition_variable changed;
    std::shared_ptr<const std::string> newest;  // not sent yet
    std::atomic<bool> stop = false;
    bool ended = false;
  };

  static void run(Shared& shared);

  OtlpEncoder encoder_;
  std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

}  // namespace nnd::cli
