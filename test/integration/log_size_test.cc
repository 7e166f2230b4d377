// What a log has where the user chose no events: a line when a connection is ready, one when it is
// closed, and each step of one that does not go well.
#include <map>
#include <set>

#include "integration/harness.h"
#include "support/event_log.h"

namespace nnd::integration {

namespace {

const std::set<std::string> kSteps = {"conn.listen",   "conn.open",  "conn.who",   "qp.create",
                                      "qp.transition", "qp.destroy", "mr.register"};

struct TwoRanks {
  explicit TwoRanks(const std::string& faults = "")
      : job(two_hosts(faults), 2, {{"NCCL_NET_DIAG_EVENTS", ""}}) {}
  EmulatedJob job;
};

}  // namespace

TEST_CASE("a healthy connection has at most 1.5 KB of log") {
  TwoRanks two;
  two.job.run_all(shim(), 4);
  std::map<std::pair<std::string, int>, std::size_t> bytes;
  std::size_t read_back = 0;
  for (const auto& event : two.job.logs()) {
    if (event.contains("conn")) bytes[{event["proc"], event["conn"]}] += event.dump().size() + 1;
    if (!kSteps.contains(event["ev"])) continue;
    // What the HCA made of what it was asked for is told once for a device.
    INFO(event.dump());
    CHECK(event["ev"] == "qp.transition");
    CHECK(event["qp"].contains("effective"));
    ++read_back;
  }
  CHECK(read_back == 2);
  REQUIRE(bytes.size() == 16);
  std::map<std::string, std::size_t> first;
  for (const auto& [connection, size] : bytes) {
    // One of each process has that line as well.
    if (size > 1536 && first.emplace(connection.first, size).second) continue;
    CHECK(size <= 1536);
  }
  for (int rank : {0, 1}) {
    CHECK(of_kind(two.job.log(rank), "conn.ready").size() == 8);
    for (const auto& closed : of_kind(two.job.log(rank), "conn.close")) {
      CHECK(closed["mrs"]["host"] > 0);
      CHECK_FALSE(closed.contains("qps"));
    }
  }
  two.job.check_logs();
}

TEST_CASE("a connection that fails has the steps in its last line, and the one that failed") {
  TwoRanks two("[[fault]]\nkind = \"refuse-rtr\"\nhost = \"node1\"\nerrno = \"EINVAL\"\n");
  two.job->setup(shim());
  auto link = two.job->ring(1).front();
  CHECK(two.job->try_open(link, 3000)["accept"]["rc"] == 2);  // ncclSystemError
  two.job->all({{"op", "exit"}});
  for (int rank : {0, 1}) CHECK(two.job->rank(rank).wait_exit() == 0);
  two.job.check_logs();

  const auto events = two.job.log(1);
  const auto failed = of_kind(events, "qp.transition");
  REQUIRE(!failed.empty());
  for (const auto& event : failed) CHECK(event["rc"] != 0);
  CHECK(failed[0]["cause"] == "QP-22");
  const auto told = of_kind(events, "conn.fail");
  REQUIRE(told.size() == 1);
  CHECK(told[0]["failure"] == failed[0]["failure"]);
  REQUIRE(told[0]["qps"].size() == 1);
  CHECK(told[0]["qps"][0]["num"] == failed[0]["qp"]["num"]);
  CHECK(told[0]["qps"][0]["state"] == "INIT");
  CHECK(told[0]["dev"]["pci"].is_string());
}

}  // namespace nnd::integration
