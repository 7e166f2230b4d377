// The main path: two hosts, nine HCAs each, NCCL's own IB transport through the shim.
#include <cstdio>
#include <map>
#include <set>

#include "integration/harness.h"

using namespace nnd;
using namespace nnd::integration;

namespace {

constexpr const char* kScenario = "two-nodes-8-hca-bond.toml";

}  // namespace

TEST_CASE("NCCL's own IB transport moves verified data over the emulated fabric") {
  EmulatedJob job(kScenario);
  const auto setup = job->setup(builtin());
  REQUIRE(setup[0]["devices"] == 9);
  CHECK(setup[0]["properties"][8]["name"] == "mlx5_bond_0");
  driver::Traffic traffic;
  traffic.sizes = {0, 1, 4097, 1 << 20};
  for (const auto bytes : job->carry(job->ring(9), traffic)) CHECK(bytes == 1 + 4097 + (1 << 20));
  job->finish();
  job->exit();
}

// The line of a connection that is ready tells all that its QPs' lines said before.
void check_whole(const std::vector<json>& events) {
  std::map<int, json> reached;  // RTR by QP
  for (const auto& event : of_kind(events, "qp.transition"))
    if (event["qp"]["to"] == "RTR") reached[event["qp"]["num"]] = event;
  for (const auto& event : of_kind(events, "conn.ready")) {
    INFO(event.dump());
    REQUIRE(event["qps"].size() == event["qp_count"]);
    bool leads_away = false;
    for (const auto& qp : event["qps"]) {
      const json& moved = reached.at(qp["num"]);
      CHECK(moved["conn"] == event["conn"]);
      CHECK(qp["attempts"] == 1);
      CHECK(qp["rtr_at_us"] <= qp["rts_at_us"]);
      CHECK(qp["rts_at_us"] <= event["dur_us"]);
      if (qp.contains("loopback")) continue;
      leads_away = true;
      CHECK(qp["remote_num"] == moved["qp"]["remote_num"]);
      CHECK(qp["sl"] == moved["qp"]["sl"]);
      CHECK(qp["traffic_class"] == moved["qp"]["traffic_class"]);
      CHECK(qp["path_mtu"] == moved["qp"]["path_mtu"]);
      CHECK(qp["timeout"] > 0);
      for (const char* field : {"name", "port", "gid_index", "gid", "subnet", "netdev"})
        CHECK(event["dev"].value(field, json()) == moved["dev"].value(field, json()));
      CHECK(event["dev"]["mtu"] > 0);
      CHECK(event["peer"]["gid"] == moved["peer"]["gid"]);
      CHECK(event["peer"].value("subnet", json()) == moved["peer"].value("subnet", json()));
    }
    CHECK(leads_away);
  }
}

TEST_CASE("through the shim, every connection is logged with its QPs") {
  EmulatedJob job(kScenario);
  const auto setup = job->setup(shim());
  REQUIRE(setup[0]["devices"] == 9);
  driver::Traffic traffic;
  traffic.sizes = {0, 1, 4097, 1 << 20};
  traffic.offset = 3;
  const auto moved = job->carry(job->ring(9), traffic);
  job->finish();
  job->exit();
  job.check_logs();

  // One line for the table of test/matrix.
  const auto loaded = of_kind(job.log(0), "plugin.load").at(0);
  std::string layers;
  for (const auto& layer : loaded["layers"]) layers += " " + layer.get<std::string>();
  std::printf("found %s v%d %s%s\n", loaded["nccl_version"].get<std::string>().c_str(),
              loaded["net_api"].get<int>(), loaded["inner"]["method"].get<std::string>().c_str(),
              layers.c_str());

  for (int rank = 0; rank < 2; ++rank) {
    const auto events = job.log(rank);
    CHECK(of_kind(events, "hca.port").size() == 9);
    const auto closed = of_kind(events, "conn.close");
    REQUIRE(closed.size() == 18);
    // Transitions by connection and QP.
    std::map<int, std::map<int, std::vector<std::string>>> steps;
    for (const auto& event : of_kind(events, "qp.transition"))
      steps[event.value("conn", -1)][event["qp"]["num"]].push_back(event["qp"]["to"]);
    for (const auto& event : closed) {
      CHECK(event["bytes"] == moved[0]);
      const auto& qps = steps[event["conn"]];
      REQUIRE(!qps.empty());
      for (const auto& [num, states] : qps)
        CHECK(states == std::vector<std::string>{"INIT", "RTR", "RTS"});
    }
    CHECK(select(events, [](const json& e) { return e["sev"] == "error"; }).empty());
    check_whole(events);
  }
}

TEST_CASE("a virtual device made of two carries a connection with the QPs of both") {
  EmulatedJob job(kScenario);
  job->setup(shim());
  const auto made = job->all({{"op", "make_vdevice"}, {"members", {2, 5}}});
  if (made[0].value("missing", false)) return;  // net v8 and older have no virtual devices
  for (const auto& reply : made) REQUIRE(reply["rc"] == 0);
  const auto properties = job->rank(0).run({{"op", "properties"}, {"dev", made[0]["dev"]}});
  CHECK(properties["properties"]["virtual_devices"] == json({2, 5}));
  driver::Link link;
  link.to = 1;
  link.from_dev = made[0]["dev"];
  link.to_dev = made[1]["dev"];
  job->carry({link});
  job->finish();
  job->exit();
  job.check_logs();
  std::set<std::string> used;
  for (const auto& event : of_kind(job.log(0), "qp.transition"))
    if (event.contains("conn") && event["qp"]["to"] == "RTS") used.insert(event["dev"]["name"]);
  CHECK(used == std::set<std::string>{"mlx5_2", "mlx5_5"});
}
