// What NCCL's proxy does besides one send into one receive: several buffers in one irecv, and
// receives whose completion is optional.
#include <algorithm>

#include "integration/harness.h"

using namespace nnd;
using namespace nnd::integration;

namespace {

std::uint64_t timed(const json& event) {
  std::uint64_t out = 0;
  for (const auto& bucket : event["latency_ns"].items()) out += bucket.value().get<std::uint64_t>();
  return out;
}

// Moves `traffic` one way over one connection and checks what its two ends counted: a send per
// message, a receive per group of messages. NCCL 2.18 tells of a group only which of its buffers
// got something, so that the receiver counts a byte for each.
void move_and_count(const driver::Traffic& traffic, std::uint64_t bytes) {
  EmulatedJob job(two_hosts());
  const auto setup = job->setup(shim());
  REQUIRE(setup[0]["properties"][0]["max_recvs"] >= traffic.group);
  CHECK(job->carry({job->ring(1).front()}, traffic) == std::vector<std::uint64_t>{bytes});
  job->finish();
  job->exit();
  job.check_logs();

  const std::size_t messages = traffic.sizes.size() * traffic.repeat;
  const auto empty = std::count(traffic.sizes.begin(), traffic.sizes.end(), 0U);
  const bool flags = setup[0]["load"]["net_version"] == 6 && traffic.group > 1;
  const auto told = flags ? messages - static_cast<std::size_t>(empty) * traffic.repeat : bytes;
  for (const auto& [rank, dir, requests, counted] :
       {std::tuple(0, "send", messages, bytes),
        std::tuple(1, "recv", messages / traffic.group, told)}) {
    CAPTURE(dir);
    const auto closed = of_kind(job.log(rank), "conn.close");
    REQUIRE(closed.size() == 1);
    CHECK(closed[0]["dir"] == dir);
    CHECK(closed[0]["bytes"] == counted);
    CHECK(closed[0]["started"] == requests);
    CHECK(closed[0]["completed"] == requests);
    CHECK(closed[0]["in_flight"] == 0);
    CHECK(!closed[0].contains("untracked"));
    CHECK(timed(closed[0]) == requests);
    CHECK(of_severity(job.log(rank), "error").empty());
  }
}

}  // namespace

TEST_CASE("several buffers in one receive, each with its own size and tag") {
  driver::Traffic traffic;
  traffic.group = GENERATE(2U, 8U);
  traffic.window = GENERATE(1U, 4U);
  traffic.sizes = {1, 4096, 0, 33333};
  traffic.repeat = 12;
  traffic.offset = 7;
  CAPTURE(traffic.group, traffic.window);
  move_and_count(traffic, 12 * (1 + 4096 + 33333));
}

TEST_CASE("receives whose completion is optional") {
  driver::Traffic traffic;
  traffic.optional = true;
  traffic.sizes = {0, 8, 70001};
  traffic.repeat = 20;
  move_and_count(traffic, 20 * (8 + 70001));
}
