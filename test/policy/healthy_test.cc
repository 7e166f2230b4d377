// Healthy clusters of every kind say nothing, from init to the last byte; and each differs by one
// fact from one that must warn.
#include <map>
#include <set>
#include <utility>

#include "policy/judged.h"

using namespace nnd;
using namespace nnd::integration;

namespace {

std::string nodes(const std::string& rest) {
  return "resolve_timeout_ms = 20\n[[host]]\ncount = 2\nname = \"node{h}\"\n" + rest;
}
std::string hcas(int count, const std::string& keys) {
  return nodes("[[host.hca]]\ncount = " + std::to_string(count) + "\n" + keys + "\n");
}
const std::string kRouter = "[[route]]\nfrom = \"10.200.0.0/16\"\nto = \"10.200.0.0/16\"\n";

std::string bonds(int count, const std::string& mbps, int first) {
  const std::string number = std::to_string(first);
  return "[[host.netdev]]\ncount = " + std::to_string(count) + "\nname = \"bond{i+" + number +
         "}\"\nkind = \"bond\"\nslaves = [\"e{i+" + number + "}f0\", \"e{i+" + number +
         "}f1\"]\nspeed_mbps = " + mbps + "\naddress = \"10.20.{i+" + number +
         "}.{h+1}/24\"\n[[host.hca]]\ncount = " + std::to_string(count) +
         "\nname = \"mlx5_bond_{i+" + number + "}\"\nnetdev = \"bond{i+" + number +
         "}\"\nspeed_mbps = " + mbps + "\n";
}

struct Cluster {
  std::string what;
  std::string healthy;
  std::string odd;    // differs in one fact
  std::string cause;  // that must be told of it
  Environment environment = {};
  Environment odd_environment = {};  // where the fact is in the environment
  int from_dev = 0, to_dev = 0;      // a link beside the ring over all devices
  std::vector<int> fuse = {};        // devices that NCCL makes one of
};

const std::vector<Cluster>& clusters() {
  static const std::string kVfAlone = "physfn = \"0000:99:00.0\"\nparent = \"0000:0f:01.0\"";
  // Their physical functions are on the same bridge, and no HCAs here.
  static const std::string kVf = kVfAlone + "\naddress = \"10.0.{i}.{h+1}/24\"";
  static const std::string kPhysical =
      "[host.sysfs]\n\"devices/pci0000:0f/0000:0f:01.0/0000:99:00.0/vendor\" = \"0x15b3\"\n";
  static const std::string kTwoPorts = "count = 2\nports = 2\naddress = \"10.{p}.{i}.{h+1}/24\"\n";
  static const std::string kFunction =
      "pci = \"0000:10:00.{i}\"\nparent = \"0000:0f:01.0\"\naddress = \"10.0.{i}.{h+1}/24\"";
  static const std::string kOthers = kPhysical +
                                     "\"class/infiniband/mlx5_8/node_type\" = \"1: CA\"\n"
                                     "\"class/infiniband/mlx5_9/node_type\" = \"1: CA\"\n";
  static const std::vector<Cluster> all = {
      {"every HCA is a bond", nodes(bonds(4, "200000", 0)),
       nodes(bonds(3, "200000", 0) + bonds(1, "25000", 3)), "DEV-SLOW"},
      {"one subnet for all rails",
       hcas(4, "address = \"10.200.{i}.{h+1}/16\""),
       hcas(3, "address = \"10.200.{i}.{h+1}/16\"") +
           "[[host.hca]]\nname = \"mlx5_3\"\naddress = \"10.201.0.{h+1}/16\"\n",
       "SUB-RAIL",
       {},
       {},
       0,
       3},
      {"one subnet per rail, routed",
       hcas(4, "address = \"10.200.{i}.{h+1}/24\"") + kRouter,
       hcas(4, "address = \"10.200.{i}.{h+1}/24\""),
       "SUB-RAIL",
       {},
       {},
       0,
       3},
      {"IPv6 only",
       hcas(2, "address = \"fd00:{i}::{h+1}/64\""),
       hcas(2, "address = \"fd00:{i}::{h+1}/64\""),
       "GID-LINKLOCAL",
       {{"NCCL_IB_ADDR_FAMILY", "AF_INET6"}},
       {{"NCCL_IB_ADDR_FAMILY", "AF_INET"}}},
      {"InfiniBand with several partitions",
       hcas(4, "link_layer = \"infiniband\"\npkeys = [\"0xffff\", \"0x8001\", \"0x0002\"]"),
       hcas(4, "link_layer = \"infiniband\"\npkeys = [\"0x7fff\", \"0x8001\", \"0x0002\"]"),
       "PKEY"},
      {"a single HCA, which has the default route too",
       nodes("[[host.netdev]]\nname = \"front\"\naddress = \"10.0.0.{h+1}/24\"\n"
             "gateway = \"10.0.0.254\"\n[[host.hca]]\nnetdev = \"front\"\n"),
       nodes("[[host.netdev]]\nname = \"front\"\n"
             "gateway = \"10.0.0.254\"\n[[host.hca]]\nnetdev = \"front\"\n"),
       "GID-LINKLOCAL"},
      {"virtual functions only", hcas(2, kVf) + kPhysical,
       hcas(1, kVf) +
           "[[host.hca]]\nname = \"mlx5_1\"\nphysfn = \"0000:10:00.0\"\nparent = \"0000:0f:01.0\"\n"
           "address = \"10.0.1.{h+1}/24\"\n",
       "DEV-MERGE"},
      {"one virtual function in a container that sees all of sysfs", hcas(1, kVf) + kOthers,
       hcas(1, kVfAlone) + kOthers, "GID-LINKLOCAL"},
      {"two functions of a card", hcas(2, kFunction),
       hcas(1, kFunction) + "[[host.hca]]\nname = \"mlx5_1\"\npci = \"0000:10:00.1\"\n" +
           "parent = \"0000:0f:01.0\"\n",
       "GID-LINKLOCAL"},
      {"two ports of an HCA made one device",
       nodes("[[host.hca]]\n" + kTwoPorts),
       nodes("[[host.hca]]\n" + kTwoPorts + "[[host.hca.port]]\nnumber = 2\nspeed_mbps = 100000\n"),
       "DEV-SLOW",
       {},
       {},
       0,
       0,
       {0, 1}},
  };
  return all;
}

// Everything once; what comes of it is in the logs.
std::vector<json> run(const Cluster& cluster, const std::string& scenario,
                      Environment environment) {
  environment.insert({{"NCCL_IB_MQP_RETRY_CNT", "1"}, {"NCCL_IB_MQP_RETRY_SLEEP_MSEC", "1"}});
  EmulatedJob job(scenario, 2, environment);
  job->all(shim().request());
  const auto inits = job->all({{"op", "init"}});
  const auto counts = job->all({{"op", "devices"}});
  std::vector<std::pair<int, int>> ways;
  for (int dev = 0; dev < counts[0]["count"].get<int>(); ++dev) {
    job->all({{"op", "properties"}, {"dev", dev}});
    ways.emplace_back(dev, dev);
  }
  if (cluster.from_dev != cluster.to_dev) ways.emplace_back(cluster.from_dev, cluster.to_dev);
  if (!cluster.fuse.empty()) {
    const auto made = job->all({{"op", "make_vdevice"}, {"members", cluster.fuse}});
    if (!made[0].value("missing", false)) {
      ways.emplace_back(made[0]["dev"], made[1]["dev"]);
      job->all({{"op", "properties"}, {"dev", made[0]["dev"]}});
    }
  }
  for (const auto& [from, to] : ways) {
    const auto listening =
        job->rank(1).run({{"op", "listen"}, {"context", inits[1]["context"]}, {"dev", to}});
    REQUIRE(listening["rc"] == 0);
    const int accept = job->rank(1).start({{"op", "accept"},
                                           {"context", inits[1]["context"]},
                                           {"listener", listening["listener"]},
                                           {"deadline_ms", 3000}});
    const int connect = job->rank(0).start({{"op", "connect"},
                                            {"context", inits[0]["context"]},
                                            {"dev", from},
                                            {"handle", listening["handle"]},
                                            {"deadline_ms", 3000}});
    driver::Link link;
    link.to = 1;
    link.send_conn = job->rank(0).wait(connect).value("conn", 0);
    link.recv_conn = job->rank(1).wait(accept).value("conn", 0);
    if (link.send_conn == 0 || link.recv_conn == 0) break;
    job->try_move(link, {}, 3000);
    job->rank(0).run({{"op", "close"}, {"conn", link.send_conn}});
    job->rank(1).run({{"op", "close"}, {"conn", link.recv_conn}});
    job->rank(1).run({{"op", "close"}, {"listener", listening["listener"]}});
  }
  for (int rank = 0; rank < 2; ++rank)
    job->rank(rank).run(
        {{"op", "finalize"}, {"context", inits[static_cast<std::size_t>(rank)]["context"]}});
  job->exit();
  job.check_logs();
  return job.logs();
}

}  // namespace

TEST_CASE("a connection's port is the one of its QPs") {
  for (const Cluster& cluster : clusters()) {
    if (!cluster.what.starts_with("two ")) continue;  // NCCL counts a card's ports together
    INFO(cluster.what);
    const auto events = run(cluster, cluster.healthy, cluster.environment);
    std::map<std::pair<std::string, int>, json> devices;
    for (const auto& event : of_kind(events, "conn.ready"))
      devices[{event["proc"], event["conn"]}] = event["dev"];
    std::set<json> seen;
    for (const auto& event : of_kind(events, "qp.transition")) {
      if (!event.contains("conn") || !event["dev"].contains("port")) continue;
      const json& dev = devices.at({event["proc"], event["conn"]});
      if (dev["name"] != event["dev"]["name"]) continue;  // fused: of one the other's name
      CHECK(dev["port"] == event["dev"]["port"]);
      seen.insert(json::array({dev["name"], dev["port"]}));
    }
    CHECK(seen.size() == (cluster.fuse.empty() ? 2 : 4));
    for (const auto& event : of_kind(events, "conn.open"))
      if (event["dir"] == "send") CHECK(event["peer"].contains("gid"));  // of the port's own table
  }
}

TEST_CASE("a healthy cluster says nothing, and one odd fact is told", "[healthy]") {
  for (const Cluster& cluster : clusters()) {
    INFO(cluster.what);
    std::size_t ready = 0;
    for (const auto& event : run(cluster, cluster.healthy, cluster.environment)) {
      ready += event["ev"] == "conn.ready" ? 1 : 0;
      if (event["sev"] != "info") FAIL_CHECK(event.dump());
    }
    CHECK(ready >= 2);
    const auto& environment =
        cluster.odd_environment.empty() ? cluster.environment : cluster.odd_environment;
    const auto told = select(run(cluster, cluster.odd, environment), [&](const json& event) {
      return event["ev"] == "policy.warn" && event["sev"] == "warn" &&
             event["cause"] == cluster.cause;
    });
    CHECK_FALSE(told.empty());
  }
}
