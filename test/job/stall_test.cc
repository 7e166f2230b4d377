// A real NCCL job in which a rank is missing from a collective: the ranks that wait for it say so,
// and nobody blames the network.
#include <algorithm>
#include <string>

#include "job/fabric.h"
#include "support/catch.h"

using namespace softcuda;
using nnd::test::FabricJob;
using Kind = Action::Kind;

namespace {

bool told(const FabricJob& job, int rank, const std::string& kind) {
  const auto stalls = job.events(rank, "conn.stall");
  return std::any_of(stalls.begin(), stalls.end(),
                     [&](const auto& event) { return event["kind"] == kind; });
}

}  // namespace

TEST_CASE("a rank that is missing from a collective", "[stall]") {
  FabricJob job(1);
  job.spec.environment["NCCL_NET_DIAG_STALL_SEC"] = "1";
  job.spec.actions = {
      {.kind = Kind::kCreate},
      {.kind = Kind::kCollective, .bytes = 1000004, .iterations = 3},
      {.kind = Kind::kCollective, .bytes = 1000004, .only_rank = 0},
      {.kind = Kind::kMeet},
  };
  // Until it was told: rank 0 waits for data, and has some that nobody takes; rank 1 wants nothing.
  const auto result = job.run([&] {
    return told(job, 0, "nothing-came") && told(job, 0, "no-receive") && told(job, 1, "idle");
  });
  REQUIRE(result.ranks.size() == 2);
  CHECK(result.ranks[0].stopped);
  for (const auto& event : job.events(0, "conn.stall")) {
    if (event["kind"] != "nothing-came" && event["kind"] != "no-receive") continue;
    INFO(event.dump());
    CHECK(event["sev"] == "info");
    CHECK(event["cause"] == "HANG-DATA");
    CHECK(event["dev"]["name"].get<std::string>().starts_with("mlx5_"));
    CHECK(event["peer"]["gid"].is_string());
    CHECK(event["peer"]["gid"] != event["dev"]["gid"]);
    CHECK(event["peer_tcp"] == "open");
  }
  const auto idle = job.events(1, "conn.stall");
  const auto line = std::find_if(idle.begin(), idle.end(),
                                 [](const auto& event) { return event["kind"] == "idle"; });
  REQUIRE(line != idle.end());
  CHECK((*line)["sev"] == "info");
  CHECK((*line)["msg"].get<std::string>().find("asked the network for nothing") !=
        std::string::npos);
}
