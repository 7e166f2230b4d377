#include "cli/rehearse/report.h"

#include "cli/common/job_failures.h"
#include "support/catch.h"

using namespace nnd::cli;
using nlohmann::json;

namespace {

json part(int rank, const std::string& host, double ms, json channels, json connections) {
  return {{"ranks",
           {{{"rank", rank},
             {"host", host},
             {"done", true},
             {"played", true},
             {"nccl", 22809},
             {"network", "IB"},
             {"nccl_warnings", json::array()},
             {"collectives",
              {{{"collective", "all_reduce"}, {"bytes", 1000}, {"iterations", 10}, {"ms", ms}}}},
             {"channels", std::move(channels)}}}},
          {"connections", std::move(connections)},
          {"hcas", json::array()},
          {"troubles", json::array()},
          {"failures", json::array()},
          {"notes", json::array()}};
}

Rehearsal merge(const std::vector<json>& parts) {
  std::vector<TaskReport> typed;
  for (const auto& one : parts) typed.push_back(task_report_from(Fields(one)));
  return merge_task_reports(std::move(typed));
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
  const auto rehearsal =
      merge({part(0, "a", 1, {channel(0, "send", 1), channel(1, "send", 1)},
                  {connection(0, "send", 1, 10), connection(0, "send", 2, 20)}),
             part(1, "b", 2, {channel(0, "recv", 0), channel(1, "recv", 0)},
                  {connection(1, "recv", 1, 10), connection(1, "recv", 2, 20)})});
  const auto merged = to_json(rehearsal);
  REQUIRE(merged["paths"].size() == 2);
  const auto& sends = merged["paths"][0];
  CHECK(sends["channels"] == json({0, 1}));
  CHECK(sends["connections"] == 2);
  CHECK(sends["bytes"] == 30);
  CHECK(sends["peer"] == json({{"rank", 1}, {"host", "b"}, {"hca", "mlx5_0:1"}}));
  REQUIRE(merged["collectives"].size() == 1);
  CHECK(merged["collectives"][0]["ms"] == 2);
  CHECK(merged["collectives"][0]["algorithm_gb_per_s"] == 0.005);
  CHECK(rehearsal_page(rehearsal, Screen()).find("0-1") != std::string::npos);
}

TEST_CASE("beside each collective stands what the ports of the node with least allow", "[report]") {
  const auto with_ports = [](json made, std::vector<int> mbps) {
    for (std::size_t i = 0; i < mbps.size(); ++i)
      made["hcas"].push_back(
          {{"host", made["ranks"][0]["host"]},
           {"verdict", "taken"},
           {"reasons", json::array()},
           {"dev", {{"name", "mlx5_" + std::to_string(i)}, {"port", 1}, {"speed_mbps", mbps[i]}}}});
    return made;
  };
  const auto on = [](json to, const char* hca) {
    to["hca"] = hca;
    return to;
  };
  const json a = part(0, "a", 1, {channel(0, "send", 1), on(channel(1, "send", 1), "mlx5_1:1")},
                      json::array());
  const json b = part(1, "b", 2, {on(channel(0, "recv", 0), "mlx5_0+mlx5_1:1")}, json::array());
  // The third is there, and no rank used it.
  auto rehearsal =
      merge({with_ports(a, {400000, 400000, 400000}), with_ports(b, {400000, 200000})});
  CHECK(rehearsal.allowed == 75.0);
  json merged = to_json(rehearsal);
  CHECK(merged["collectives"][0]["allowed_gb_per_s"] == 75);
  CHECK(merged["collectives"][0]["bus_gb_per_s"] == 0.005);  // two ranks: as much as the algorithm
  CHECK(rehearsal_page(rehearsal, Screen()).find("host memory and the CPU") != std::string::npos);
  // A speed that nobody knows; and a host whose ranks talk to each other by way of the network.
  CHECK_FALSE(merge({with_ports(a, {400000, 400000}), with_ports(b, {400000})}).allowed);
  json same = b;
  same["ranks"][0]["host"] = "a";
  CHECK_FALSE(merge({with_ports(a, {400000, 400000}), same}).allowed);
}

TEST_CASE("bus bandwidth is what nccl-tests make of it", "[report]") {
  const auto bus = [](const char* collective) {
    return bus_gb_per_s({collective, 1000000000, 1, 1000}, 4).value_or(0);  // 1 GB in 1 s
  };
  CHECK(bus("all_reduce") == 1.5);
  CHECK(bus("all_gather") == 3);  // of each rank's share, four of which are the whole
  CHECK(bus("reduce_scatter") == 3);
  CHECK(bus("broadcast") == 1);
  CHECK(bus("reduce") == 1);
  CHECK(bus("sendrecv") == 1);
  CHECK_FALSE(bus_gb_per_s({"all_reduce", 1000, 1, 1}, 1));
}

TEST_CASE("a channel has the name of its net device, also of two HCAs that NCCL merged",
          "[report]") {
  softcuda::JobResult result;
  result.ranks.resize(2);
  result.ranks[0].output = "vm:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/2\n";
  result.ranks[1].rank = 1;
  result.ranks[1].output =
      "vm:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [receive] via NET/IB/0\n";
  const auto event = [](nnd::log::EventId id) {
    nnd::log::Event out;
    out.id = id;
    out.proc = "0x1";
    return out;
  };
  const auto device = [&](int index, const char* name) {
    auto out = event(nnd::log::EventId::kNetDevice);
    out.dev.index = index;
    out.dev.name = name;
    out.dev.port = 1;
    return out;
  };
  nnd::log::Job job;
  auto load = event(nnd::log::EventId::kPluginLoad);
  load.launch.rank = 0;
  for (const auto& one : {load, device(0, "mlx5_0"), device(2, "mlx5_0+mlx5_1")}) job.add(one);
  const auto part = to_json(make_task_report(
      result, 1, [](int) { return "a"; }, job, ""));
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
  CHECK(failures_of(result, 60) == std::vector<std::string>{"ranks 0-1: no way"});
  result.ranks[2].signal = 9;
  result.ranks[2].stopped = false;
  CHECK(failures_of(result, 60).back() == "rank 2: ended by signal 9 (Killed)");
}

TEST_CASE("what another task reports is read as it was sent, and nothing else is", "[report]") {
  const auto sent = part(0, "a", 1, json::array({channel(0, "send", 1)}),
                         json::array({connection(0, "send", 1, 10)}));
  CHECK(to_json(task_report_from(Fields(sent))) == sent);
  const auto wrong = [&](const char* pointer, json value) {
    auto changed = sent;
    changed[json::json_pointer(pointer)] = std::move(value);
    return changed;
  };
  for (const auto& one :
       {json::object(), wrong("/ranks", 1), wrong("/ranks/0/rank", "x"), wrong("/ranks/0/rank", -1),
        wrong("/ranks/0/collectives/0/ms", nullptr), wrong("/ranks/0/channels/0/dir", "up"),
        wrong("/connections/0/link/listen", 1.5), wrong("/connections/0/bytes", -1),
        wrong("/hcas", json::array({1})), wrong("/failures", json::array({json::object()}))}) {
    INFO(one.dump());
    CHECK_THROWS_AS(task_report_from(Fields(one)), BadMessage);
  }
  CHECK_THROWS_AS(Fields(json::array()), BadMessage);
}

TEST_CASE("what another task reports commands no terminal", "[report]") {
  auto sent = part(0, "a\x1b[31m", 1, json::array(), json::array());
  sent["failures"] = {"it failed\x1b]0;owned\x07\nfine: all is well"};
  const auto rehearsal = merge({sent});
  CHECK(to_json(rehearsal).dump().find("\\u001b") == std::string::npos);
  CHECK(rehearsal_page(rehearsal, Screen()).find('\x1b') == std::string::npos);
  CHECK(rehearsal.all.failures ==
        std::vector<std::string>{"it failed?]0;owned??fine: all is well"});
  CHECK(rehearsal.all.ranks[0].host == "a?[31m");
}

TEST_CASE("an end whose rank nobody knows is no rank's peer", "[report]") {
  auto nameless = connection(0, "recv", 1, 10);
  nameless.erase("rank");
  const auto rehearsal =
      merge({part(0, "a", 1, json::array(), {connection(0, "send", 1, 10), nameless})});
  REQUIRE(rehearsal.paths.size() == 1);
  CHECK(rehearsal.paths[0].peer_rank == -1);
  CHECK(rehearsal.paths[0].peer_hca == "mlx5_0:1");
}
