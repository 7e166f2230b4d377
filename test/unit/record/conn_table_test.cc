#include "record/conn_table.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "context/clock.h"
#include "fixture.h"
#include "record/box.h"
#include "support/catch.h"

using namespace nnd::record;
using namespace nnd::record::testing;
namespace raw = nnd::context::raw_clock;

namespace {

nnd::state::About connection(std::uint32_t id, bool send) {
  nnd::state::About c;
  c.id = id;
  c.dir = send ? nnd::state::Direction::kSend : nnd::state::Direction::kRecv;
  return c;
}

// Until the counter's rate is known.
void calibrated() {
  raw::calibrate();
  while (raw::reference().hz == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    raw::calibrate();
  }
}

}  // namespace

TEST_CASE("raw clock: agrees with CLOCK_MONOTONIC") {
  calibrated();
  const std::uint64_t raw_before = raw::now();
  const std::uint64_t ns_before = nnd::context::mono_ns();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  raw::calibrate();
  const std::uint64_t raw_ns = raw::to_ns(raw::now() - raw_before);
  const std::uint64_t ns = nnd::context::mono_ns() - ns_before;
  CHECK(raw_ns > ns - ns / 20);
  CHECK(raw_ns < ns + ns / 20);
  CHECK(raw::reference().raw <= raw_before);
}

TEST_CASE("connections: counters, buckets and times") {
  calibrated();
  ConnCounters* c = acquire_conn(connection(5, true));
  CHECK(c->conn == 5);
  CHECK(c->started == 0);
  c->count_post(1000);
  c->count_post(2000);
  CHECK(c->first_post == 1000);
  CHECK(c->last_post == 2000);
  const double hz = static_cast<double>(raw::reference().hz);
  const auto ticks = [&](double ns) { return static_cast<std::uint64_t>(ns * hz / 1e9); };
  c->count_done(0, ticks(1500), 10);
  c->count_done(0, 0, 10);
  c->count_done(0, ticks(4e12), 10);  // over an hour: the last bucket
  CHECK(c->completed == 3);
  CHECK(c->bytes == 30);
  CHECK(c->latency[10] == 1);
  CHECK(c->latency[0] == 1);
  CHECK(c->latency[nccl_net_diag::box::kLatencyBuckets - 1] == 1);
  release_conn(c);
  ConnCounters* next = acquire_conn(connection(6, false));
  CHECK(next == c);  // and empty again
  CHECK(next->started == 0);
  CHECK(next->latency[10] == 0);
  release_conn(next);
  release_conn(nullptr);
}

TEST_CASE("connections: more than the table holds, from many threads, each with its own block") {
  std::vector<std::thread> threads;
  std::vector<std::vector<ConnCounters*>> taken(4);
  for (std::uint32_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (std::uint32_t i = 0; i < 400; ++i)
        taken[t].push_back(acquire_conn(connection(1 + 400 * t + i, true)));
    });
  for (std::thread& thread : threads) thread.join();
  std::vector<ConnCounters*> all;
  for (const auto& some : taken) all.insert(all.end(), some.begin(), some.end());
  for (std::uint32_t t = 0; t < 4; ++t)
    for (std::uint32_t i = 0; i < 400; ++i) CHECK(taken[t][i]->conn == 1 + 400 * t + i);
  CHECK(conn_table_size() == Box::kConns);
  std::sort(all.begin(), all.end());
  CHECK(std::unique(all.begin(), all.end()) == all.end());
  for (ConnCounters* c : all) release_conn(c);
  for (std::uint32_t i = 0; i < conn_table_size(); ++i) CHECK(conn_at(i).conn == 0);
}

TEST_CASE("connections: the summary adds up what is open and what was closed") {
  const TempDir dir;
  forget_conns();
  start(log_to(dir / "log.jsonl"));
  ConnCounters* open = acquire_conn(connection(1, true));
  ConnCounters* closed = acquire_conn(connection(2, false));
  open->count_post(1);
  closed->count_post(1);
  closed->count_done(1, 2, 100);
  ConnCounters::add(open->failed, 1);
  release_conn(closed);
  stop();
  release_conn(open);
  const Json traffic = read_log(dir / "log.jsonl").back()["traffic"];
  CHECK(traffic["open"] == 1);
  CHECK(traffic["send"] ==
        Json::parse(R"({"conns":1,"started":1,"completed":0,"failed":1,"bytes":0})"));
  CHECK(traffic["recv"] ==
        Json::parse(R"({"conns":1,"started":1,"completed":1,"failed":0,"bytes":100})"));
}
