#include "cli/exporter/otlp_push.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <random>
#include <utility>

#include "cli/common/output.h"
#include "cli/common/printable.h"
#include "context/clock.h"

namespace nnd::cli {

using nlohmann::json;

namespace {

using Seconds = std::chrono::duration<double>;

constexpr std::chrono::seconds kLongestPost{10};
constexpr unsigned kTaken = 200, kMoved = 300, kRefused = 400;

std::string shortened(std::string text) {
  constexpr std::size_t kMost = 200;
  if (text.size() > kMost) text = text.substr(0, kMost) + "...";
  return printable(std::move(text));
}

// Of an answer of 200: points that the receiver left out, which it does not want again.
std::string left_out(const std::string& body) {
  const json answer = json::parse(body, nullptr, false);
  if (!answer.is_object() || !answer.contains("partialSuccess")) return "";
  const json& partial = answer["partialSuccess"];
  if (!partial.is_object()) return "";
  const json rejected = partial.value("rejectedDataPoints", json(0));
  const std::string count = rejected.is_string() ? rejected.get<std::string>() : rejected.dump();
  const json why = partial.value("errorMessage", json(""));
  const std::string said = why.is_string() ? why.get<std::string>() : why.dump();
  if ((count.empty() || count == "0") && said.empty()) return "";
  return fmt::format("it leaves out {} data points: {}", shortened(count), shortened(said));
}

// Who calls is busy with another thing: signals are the main thread's.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

// Says what has changed, once.
class Told {
 public:
  explicit Told(std::string to) : to_(std::move(to)) {}

  void about(const std::string& complaint) {
    if (std::exchange(last_, complaint) == complaint) return;
    print_err(complaint.empty() ? fmt::format("{} takes metrics again\n", to_)
                                : fmt::format("{} does not get all metrics: {}\n", to_, complaint));
  }

 private:
  std::string to_, last_;
};

}  // namespace

double Backoff::next(double jitter, std::optional<unsigned> asked_sec) {
  const double own = sec_ * (0.5 + jitter);
  sec_ = std::min(2 * sec_, kLongestSec);
  return std::max(own, std::min<double>(asked_sec.value_or(0), kMostAskedSec));
}

std::string complaint_of(const Posted& posted) {
  if (posted.status == 0) return shortened(posted.why);
  if (posted.status >= kTaken && posted.status < kMoved) return left_out(posted.body);
  if (posted.status < kRefused)
    return fmt::format("status {}, it is at {}", posted.status, shortened(posted.location));
  return posted.body.empty() ? fmt::format("status {}", posted.status)
                             : fmt::format("status {}: {}", posted.status, shortened(posted.body));
}

bool may_be_sent_again(const Posted& posted) {
  constexpr unsigned kAgain[] = {0, 429, 502, 503, 504};
  return std::find(std::begin(kAgain), std::end(kAgain), posted.status) != std::end(kAgain);
}

OtlpPush::OtlpPush(HttpUrl to, const std::string& host)
    : encoder_(host), shared_(std::make_shared<Shared>()) {
  shared_->to = std::move(to);
  const SignalsBlocked blocked;
  thread_ = std::thread([shared = shared_] {
    run(*shared);
    const std::lock_guard lock(shared->mutex);
    shared->ended = true;
    shared->changed.notify_all();
  });
}

OtlpPush::~OtlpPush() {
  constexpr std::chrono::milliseconds kPatience{500};
  shared_->stop = true;
  bool ended = false;
  {
    std::unique_lock lock(shared_->mutex);
    shared_->changed.notify_all();
    ended = shared_->changed.wait_for(lock, kPatience, [&] { return shared_->ended; });
  }
  if (ended)
    thread_.join();
  else
    thread_.detach();
}

void OtlpPush::send(const Families& families) {
  auto made = std::make_shared<const std::string>(
      encoder_.encode(families, context::now_ns(CLOCK_REALTIME)));
  const std::lock_guard lock(shared_->mutex);
  shared_->newest = std::move(made);
  shared_->changed.notify_all();
}

void OtlpPush::run(Shared& shared) {
  Backoff backoff;
  Told told(shared.to.text());
  std::minstd_rand random(std::random_device{}());
  std::uniform_real_distribution<double> jitter(0, 1);
  auto not_before = std::chrono::steady_clock::now();
  std::unique_lock lock(shared.mutex);
  const auto stopped = [&] { return shared.stop.load(); };
  for (;;) {
    shared.changed.wait(lock, [&] { return stopped() || shared.newest; });
    if (shared.changed.wait_until(lock, not_before, stopped)) return;
    const auto body = std::exchange(shared.newest, nullptr);
    lock.unlock();
    const Posted posted = post_json(shared.to, *body, kLongestPost, shared.stop);
    if (stopped()) return;
    const bool taken = posted.status >= kTaken && posted.status < kMoved;
    told.about(complaint_of(posted));
    if (taken)
      backoff.reset();
    else
      not_before = std::chrono::steady_clock::now() +
                   std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                       Seconds(backoff.next(jitter(random), posted.retry_after_sec)));
    lock.lock();
    if (!taken && may_be_sent_again(posted) && !shared.newest) shared.newest = body;
  }
}

}  // namespace nnd::cli
