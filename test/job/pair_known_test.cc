// One end of a pair can't be moved to RTR, and the other can: what is known of the pair is said at
// both, to the last word.
#include <algorithm>
#include <cstdint>
#include <string>

#include "job/profiled.h"
#include "support/temp_dir.h"

using namespace softcuda;
using nlohmann::json;
using nnd::test::failures;
using nnd::test::ProfiledJob;
using Kind = Action::Kind;

namespace {

// Two ranks of one node, each with an HCA of its own; one of these resolves no address.
constexpr const char* kNode =
    "resolve_timeout_ms = 50\n"
    "[[host]]\nname = \"node0\"\n[[host.hca]]\ncount = 2\naddress = \"10.200.0.{i+1}/24\"\n"
    "[[fault]]\nkind = \"refuse-rtr\"\nhost = \"node0\"\nhca = \"mlx5_0\"\nerrno = \"ETIMEDOUT\"\n";

}  // namespace

TEST_CASE("the end that could be moved says of the pair what the other end failed with",
          "[pair-known]") {
  const nnd::test::TempDir dir;
  ProfiledJob job(2, 1, kNode);
  auto& environment = job.spec.environment;
  environment["NCCL_NET_DIAG_POLICY"] =
      dir.file("policy.toml", "mode = \"warn\"\n[pair]\nlocal = \"deny\"\n");
  environment["NCCL_NET_DIAG_CONNECT_SEC"] = "0.3";
  environment["NCCL_IB_MQP_RETRY_ALL"] = "1";
  environment["NCCL_IB_MQP_RETRY_CNT"] = "16";  // long enough that the watch looks again
  environment["NCCL_IB_MQP_RETRY_SLEEP_MSEC"] = "300";
  job.spec.grace_sec = 10;
  job.spec.actions = {{.kind = Kind::kCreate}, {.kind = Kind::kCollective, .bytes = 4000}};
  INFO(failures(job.run()));
  job.check_logs();
  for (int rank = 0; rank < 2; ++rank) {
    const auto warnings = job.events(rank, "policy.warn");
    const auto first = std::find_if(warnings.begin(), warnings.end(),
                                    [](const json& e) { return e.at("cause") == "SUB-INTRA"; });
    REQUIRE(first != warnings.end());
    // The look at what waits that was under way then knew nothing of it.
    const auto known_ns = first->at("mono_ns").get<std::uint64_t>() + 1'000'000'000;
    std::size_t told = 0;
    for (const char* const name : {"conn.stall", "conn.fail"})
      for (const json& e : job.events(rank, name)) {
        INFO(e.dump());
        if (e.at("mono_ns").get<std::uint64_t>() < known_ns) continue;
        const auto cause = e.at("cause").get<std::string>();
        CHECK(!cause.starts_with("RC-"));
        if (!e.contains("peer") || !e.at("peer").contains("gid")) continue;
        CHECK(cause == "SUB-INTRA");
        REQUIRE(e.contains("failure"));
        bool warned = false;
        for (const json& before : warnings)
          warned = warned || (before.contains("failure") && before["failure"] == e["failure"]);
        CHECK(warned);
        ++told;
      }
    // Rank 0 may be held before it has sent what rank 1 learns the pair from, which then knows it
    // only as the job ends.
    const bool in_time = rank == 0 || known_ns < job.events(0, "conn.fail").at(0).at("mono_ns");
    CAPTURE(rank);
    CHECK((told > 0 || !in_time));
  }
}
