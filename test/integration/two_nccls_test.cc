// Two releases of NCCL in one process, both asked to load the plugin: the first is wrapped, the
// second is told so and runs as if there were no plugin.
#include "driver/nccl_cache.h"
#include "integration/harness.h"
#include "support/skip.h"

using namespace nnd;
using namespace nnd::integration;

namespace {

std::vector<json> complaints(const std::vector<json>& events) {
  return select(events, [](const json& event) {
    return event["sev"] != "info" &&
           event["msg"].get<std::string>().find("second NCCL in the process") != std::string::npos;
  });
}

}  // namespace

TEST_CASE("of two NCCLs in a process the first is wrapped and the second runs without") {
  // The same table of ours as 2.28.9, an older and a newer one.
  const std::string version = GENERATE("2.29.2", "2.18.3", "2.32.3");
  CAPTURE(version);
  const auto other = driver::cached_nccl(version);
  if (!other || version == nccl_version()) {
    NND_SKIP("NCCL " + version + " is not in the cache, or the first one too");
  }
  EmulatedJob job(two_hosts());
  const auto first = job->setup(shim());
  auto second = job->beside();
  second.all(driver::Transport{*other, "diag", ""}.request());
  for (const auto& reply : second.all({{"op", "init"}})) CHECK(reply["rc"] != 0);
  // NCCL passes over a plugin whose init fails, and goes on to its own transport.
  const auto own = second.setup({*other, "", "IB"});
  CHECK(own[0]["load"]["nccl"] == version);
  CHECK(own[0]["devices"] == first[0]["devices"]);

  auto wrapped = job->ring(2);
  auto plain = second.ring(2);
  job->open(wrapped);
  second.open(plain);
  for (const auto bytes : second.move(plain, {})) CHECK(bytes == 1 << 20);
  for (const auto bytes : job->move(wrapped, {})) CHECK(bytes == 1 << 20);
  second.close(plain);
  second.finish();
  // The first one goes on, also with what it asks for anew.
  job->carry(job->ring(1));
  job->close(wrapped);
  job->finish();
  const auto lines = job->rank(0).run({{"op", "logs"}})["lines"];
  job->exit();
  job.check_logs();

  const auto events = job.log(0);
  check_lives(events, 6);
  const auto told = complaints(events);
  REQUIRE(told.size() == 1);
  CHECK(told[0]["ev"] == "plugin.load");
  CHECK(told[0]["nccl_version"] == version);
  CHECK(told[0]["layers"] == json({"verbs"}));
  CHECK(of_kind(events, "plugin.load").size() == 2);
  CHECK(of_kind(events, "plugin.load")[0]["nccl_version"] == first[0]["load"]["nccl"]);
  CHECK(of_severity(events, "error").empty());
  CHECK(std::count_if(lines.begin(), lines.end(), [](const json& line) {
          return line["text"].get<std::string>().find("second NCCL in the process") !=
                 std::string::npos;
        }) == 1);
}
