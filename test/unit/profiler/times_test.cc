// What is told now and then, and where the time of steps goes.
#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <thread>

#include "context/raw_clock.h"
#include "profiler/events.h"
#include "profiler/nccl.h"
#include "state/communicators.h"
#include "support/catch.h"
#include "support/recorded.h"

using namespace nnd;
using namespace nnd::profiler;
using namespace nnd::profiler::test;
using nccl_abi::ProfilerState;
using nlohmann::json;

namespace {

constexpr std::uint64_t kTenMinutes = 600'000'000'000;

std::vector<json> counted(const std::vector<json>& log) {
  std::vector<json> out;
  for (const json& e : log)
    if (e.at("ev") == "coll.count") out.push_back(e);
  return out;
}

std::uint64_t sum_of(const json& buckets) {
  std::uint64_t sum = 0;
  for (const auto& [least, count] : buckets.items()) sum += count.get<std::uint64_t>();
  return sum;
}

}  // namespace

TEST_CASE("counts are told every ten minutes, where there was anything, and at the end") {
  static std::uint64_t now = 1;
  look(now);
  const auto log = counted(nnd::test::recorded([] {
    Nccl<nccl_abi::ProfilerV5> nccl;
    look(now += kTenMinutes);  // nothing was called
    nccl.all_reduce(0, 1000);
    look(now += kTenMinutes - 1);
    nccl.all_reduce(1, 1000);
    look(now += 1);
    look(now += kTenMinutes);  // nothing new
    nccl.all_reduce(2, 1000);
  }));
  REQUIRE(log.size() == 2);
  CHECK(log[0].at("last") == false);
  CHECK(log[0].at("ran").at(0).at("calls") == 2);
  CHECK(log[1].at("last") == true);
  CHECK(log[1].at("ran").at(0).at("calls") == 3);
}

TEST_CASE("a collective now and then tells its steps, and the mask is lowered when it has begun") {
  Nccl<nccl_abi::ProfilerV5> nccl;
  state::end_sample();
  state::set_mask();
  CHECK((nccl.own_mask & profile::kProxyStep) == 0);
  look(1);
  CHECK((nccl.own_mask & profile::kProxyStep) != 0);
  nccl.all_reduce(0, 1);
  CHECK((nccl.own_mask & profile::kProxyStep) == 0);
}

TEMPLATE_TEST_CASE("the time of steps goes to its phases", "", nccl_abi::ProfilerV1,
                   nccl_abi::ProfilerV4, nccl_abi::ProfilerV7) {
  const auto log = counted(nnd::test::recorded([] {
    Nccl<TestType> nccl;
    void* const task = nccl.all_reduce(0, 1000);
    for (const bool sends : {true, false}) {
      void* const op = nccl.op(task, 0, 1, sends);
      for (int n = 0; n < 3; ++n) {
        void* const step = nccl.step(op);
        const auto say = [&](ProfilerState state) {
          nccl.table.recordEventState(step, state, nullptr);
        };
        if (sends) {
          say(ProfilerState::kProxyStepSendGpuWait);
          say(ProfilerState::kProxyStepSendPeerWait);
          say(ProfilerState::kProxyStepSendPeerWait);  // at every poll
          say(ProfilerState::kProxyStepSendWait);
        } else {
          say(ProfilerState::kProxyStepRecvWait);
          say(ProfilerState::kProxyStepRecvFlushWait);
          say(ProfilerState::kProxyStepRecvGpuWait);
        }
        nccl.stop(step);
      }
      nccl.stop(op);
    }
    // Of one whose step has not ended nothing is said.
    void* const op = nccl.op(nccl.all_reduce(1, 1000), 0, 1, true);
    nccl.step(op);
    nccl.stop(op);
  }));
  REQUIRE(log.size() == 1);
  const json& ran = log[0].at("ran").at(0);
  INFO(ran.dump());
  CHECK(ran.at("steps").at("sends") == 3);
  CHECK(ran.at("steps").at("receives") == 3);
  CHECK(sum_of(ran.at("took_ns")) == 2);
  for (const char* const phase :
       {"before_send_us", "sending_us", "receiving_us", "after_receive_us"})
    CHECK(ran.at("steps").at(phase) < 1e9);
}

TEST_CASE("a communicator is busy with one collective after the other, however early it is asked") {
  // Else what its ticks mean is found by the drain thread, in its own time.
  while (context::raw_clock::reference().hz == 0) context::raw_clock::calibrate();
  const auto log = counted(nnd::test::recorded([] {
    Nccl<nccl_abi::ProfilerV5> nccl;
    const std::array tasks{nccl.all_reduce(0, 1000), nccl.all_reduce(1, 1000),
                           nccl.all_reduce(2, 5000)};
    for (void* const task : tasks) {
      void* const op = nccl.op(task, 0, 1, true);
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      nccl.stop(op);
    }
  }));
  REQUIRE(log.size() == 1);
  const json& ran = log[0].at("ran").at(0);
  INFO(ran.dump());
  CHECK(ran.at("busy_calls") == json{{"2048", 2}, {"16384", 1}});
  CHECK(ran.at("busy_bytes") == json{{"2048", 8000}, {"16384", 20000}});
  const auto busy = sum_of(ran.at("busy_ns"));
  CHECK(busy > 0);
  // All were asked for at once: no longer than the last of them took.
  std::uint64_t longest = 0;
  for (const auto& [least, calls] : ran.at("took_ns").items())
    longest = std::max<std::uint64_t>(longest, std::stoull(least));
  CHECK(busy <= 2 * longest);
}
