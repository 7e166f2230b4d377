#include "cli/common/job_failures.h"
#include "cli/rehearse/report.h"
#include "support/catch.h"

using namespace nnd::cli;
using nlohmann::json;

namespace {

json part(int rank, const std::string& host, double ms, json channels, json connections) {
  return {{"ranks",
           {{{"rank", rank},
             {"host", host},
             {"nccl", 22809},
             {"network", "IB"},
             {"nccl_warnings", json::array()},
             {"collectives",
              {{{"collective", "all_reduce"}, {"bytes", 1000}, {"iterations", 10}, {"ms", ms}}}},
             {"channels", std::move(channels)}}}},
          {"connections", std::move(connections)},
          {"hcas", json::array()},
          {"troubles", json::array()},
          {"failures", json::array()}};
}

json channel(int number, const char* dir, int peer) {
  return {{"channel", number}, {"dir", dir}, {"peer_rank", peer}, {"hca", "mlx5_0:1"}};
}

json connection(int rank, const char* dir, int listen, int bytes) {
  return {{"rank", rank},      {"host", ""},     {"dir", dir},
          {"hca", "mlx5_0:1"}, {"bytes", bytes}, {"link", {{"proc", "0x1"}, {"listen", listen}}}};
}

}  // namespace

TEST_CASE("both ends of a connection find each other, and the slowest rank counts", "[report]") {
  const auto merged =
      merge_parts({part(0, "a", 1, {channel(0, "send", 1), channel(1, "send", 1)},
                        {connection(0, "send", 1, 10), connection(0, "send", 2, 20)}),
                   part(1, "b", 2, {channel(0, "recv", 0), channel(1, "recv", 0)},
                        {connection(1, "recv", 1, 10), connection(1, "recv", 2, 20)})});
  REQUIRE(merged["paths"].size() == 2);
  const auto& sends = merged["paths"][0];
  CHECK(sends["channels"] == json({0, 1}));
  CHECK(sends["connections"] == 2);
  CHECK(sends["bytes"] == 30);
  CHECK(sends["peer"] == json({{"rank", 1}, {"host", "b"}, {"hca", "mlx5_0:1"}}));
  REQUIRE(merged["collectives"].size() == 1);
  CHECK(merged["collectives"][0]["ms"] == 2);
  CHECK(merged["collectives"][0]["algorithm_gb_per_s"] == 0.005);
  CHECK(render_rehearsal(merged).find("0-1") != std::string::npos);
}

TEST_CASE("a channel has the name of its net device, also of two HCAs that NCCL merged",
          "[report]") {
  softcuda::JobResult result;
  result.ranks.resize(2);
  result.ranks[0].output = "vm:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/2\n";
  result.ranks[1].rank = 1;
  result.ranks[1].output =
      "vm:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [receive] via NET/IB/0\n";
  const auto event = [](const char* kind, const char* proc, const char* more, json value) {
    return json{{"ev", kind}, {"sev", "info"}, {"proc", proc}, {more, std::move(value)}};
  };
  const auto device = [](int index, const char* name) {
    return json{{"index", index}, {"name", name}, {"port", 1}};
  };
  const auto part = report_part(result, 1, [](int) { return "a"; },
                                {event("plugin.load", "0x1", "launch", {{"rank", 0}}),
                                 event("net.device", "0x1", "dev", device(0, "mlx5_0")),
                                 event("net.device", "0x1", "dev", device(2, "mlx5_0+mlx5_1"))});
  CHECK(part["ranks"][0]["channels"][0]["hca"] == "mlx5_0+mlx5_1:1");
  CHECK(part["ranks"][1]["channels"][0]["hca"] == "net 0");  // its log is lost
}

TEST_CASE("causes are told once, and not those of ranks that were only stopped", "[report]") {
  softcuda::JobResult result;
  result.ranks.resize(4);
  for (int rank = 0; rank < 4; ++rank) result.ranks[static_cast<std::size_t>(rank)].rank = rank;
  result.ranks[0].error = result.ranks[1].error = "no way";
  result.ranks[2].stopped = true;
  result.ranks[3].done = true;
  CHECK(failures_of(result, 60) == std::vector<std::string>{"ranks 0 and 1: no way"});
  result.ranks[2].signal = 9;
  result.ranks[2].stopped = false;
  CHECK(failures_of(result, 60).back() == "rank 2: ended by signal 9 (Killed)");
}
