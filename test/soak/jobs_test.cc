// What comes and goes on a node in weeks: communicators of a job, and jobs one after another whose
// logs have one place and one name. Nothing of theirs adds up but the logs, and each log stays.
#include <signal.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "carry.h"
#include "held.h"
#include "integration/harness.h"
#include "resources.h"
#include "support/event_log.h"

using namespace nnd;
using namespace nnd::integration;

namespace {

const std::map<std::string, std::string> kQuiet = {{"NCCL_IB_GID_INDEX", "3"}};

// One more beside those that are there: made, used and destroyed.
void communicator(driver::Job& job, int number) {
  const auto made = job.all({{"op", "init"}, {"comm_id", 0x1000 + number}});
  std::array<int, 2> context{};
  for (std::size_t rank = 0; rank < 2; ++rank) {
    driver::expect_success(job.rank(static_cast<int>(rank)), made[rank]);
    context[rank] = made[rank]["context"];
  }
  const auto listening = job.run(1, {{"op", "listen"}, {"context", context[1]}, {"dev", 0}});
  const int accept = job.rank(1).start(
      {{"op", "accept"}, {"context", context[1]}, {"listener", listening["listener"]}});
  const int connect = job.rank(0).start(
      {{"op", "connect"}, {"context", context[0]}, {"dev", 0}, {"handle", listening["handle"]}});
  std::vector<driver::Link> links(1);
  links[0].to = 1;
  links[0].send_conn = job.rank(0).wait(connect).at("conn");
  links[0].recv_conn = job.rank(1).wait(accept).at("conn");
  links[0].listener = listening["listener"];
  driver::Traffic traffic;
  traffic.sizes = {8192};
  job.move(links, traffic);
  job.close(links);
  job.all({{"op", "forget"}});
  for (int rank = 0; rank < 2; ++rank)
    driver::expect_success(
        job.rank(rank),
        job.run(rank, {{"op", "finalize"}, {"context", context[static_cast<std::size_t>(rank)]}}));
}

enum class End { kExit, kKilled, kTerminated };

void end(EmulatedJob& job, End how) {
  if (how == End::kExit) {
    job->finish();
    job->exit();
    return;
  }
  for (int rank = 0; rank < 2; ++rank) {
    job->rank(rank).kill(how == End::kKilled ? SIGKILL : SIGTERM);
    job->rank(rank).wait_exit();
  }
}

}  // namespace

TEST_CASE("two hundred communicators made and destroyed leave nothing behind") {
  constexpr int kFirst = 20, kAll = 200;
  EmulatedJob job(two_hosts(), 2, kQuiet);
  job->setup(shim());
  int number = 0;
  while (number < kFirst) communicator(*job, number++);
  const auto before = soak::held_by(*job);
  while (number < kAll) communicator(*job, number++);
  CHECK(soak::hold_no_more(*job, before));
  job->finish();
  job->exit();
  job.check_logs();
  for (int rank = 0; rank < 2; ++rank) {
    const auto events = job.log(rank);
    check_lives(events, kAll);
    CHECK(of_kind(events, "summary").size() == 1);
    CHECK(of_severity(events, "error").empty());
    CHECK(of_severity(events, "warn").empty());
  }
}

TEST_CASE("ten jobs one after another write to one name, and end in every way") {
  constexpr int kJobs = 10;
  constexpr long kConnections = 50;
  constexpr double kOfOthers = 64 << 10;  // what a start reads may not grow with what is there
  const ScratchDir place;
  auto environment = kQuiet;
  environment["NCCL_NET_DIAG_FILE"] = place.path() / "%h.jsonl";
  std::vector<soak::Resources> first;
  double read_at_first = 0;
  std::size_t boxes = 0;
  for (int number = 0; number < kJobs; ++number) {
    CAPTURE(number);
    const End how = static_cast<End>(number % 3);
    EmulatedJob job(two_hosts(), 2, environment);
    job->setup(shim());
    const double read = soak::io_of(job->rank(0).pid()).bytes_read;
    if (number == 0) read_at_first = read;
    CHECK(read <= read_at_first + kOfOthers);
    soak::carry(job, kConnections);
    if (number == 0)
      first = soak::held_by(*job);
    else
      CHECK(soak::hold_no_more(*job, first));
    end(job, how);
    if (how != End::kExit) boxes += 2;
  }
  check_logs(place.path());
  std::size_t boxes_left = 0;
  std::set<std::string> processes;
  for (const auto& entry : std::filesystem::directory_iterator(place.path())) {
    INFO(entry.path());
    if (entry.path().extension() == ".nndbox") {
      ++boxes_left;
      continue;
    }
    const auto events = test::read_log(entry.path());
    const auto loaded = of_kind(events, "plugin.load");
    REQUIRE(loaded.size() == 1);
    CHECK(processes.insert(loaded[0]["proc"]).second);
    CHECK(of_severity(events, "error").empty());
    CHECK(of_severity(events, "warn").empty());
  }
  CHECK(boxes_left == boxes);
  CHECK(processes.size() == 2 * kJobs);
}
