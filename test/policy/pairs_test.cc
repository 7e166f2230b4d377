// Pairs of ends, from the attributes of ibv_modify_qp: what is told before NCCL's retries, and what
// is refused.
#include <fstream>

#include "policy/judged.h"
#include "policy/troubles.h"

using namespace nnd;
using namespace nnd::integration;

namespace {

// A kernel that gives up at once, and NCCL 2.24 and newer that tries once more.
const Environment kQuick = {{"NCCL_IB_MQP_RETRY_CNT", "1"}, {"NCCL_IB_MQP_RETRY_SLEEP_MSEC", "1"}};

std::string hosts(const std::string& hca, const std::string& more = "") {
  return "resolve_timeout_ms = 20\n[[host]]\ncount = 2\nname = \"node{h}\"\n[[host.hca]]\n" + hca +
         "\n" + more;
}
const std::string kRails = "count = 2\naddress = \"10.200.{i}.{h+1}/24\"";
const std::string kRouter = "[[route]]\nfrom = \"10.200.0.0/16\"\nto = \"10.200.0.0/16\"\n";

std::string unlike(const std::string& first, const std::string& second) {
  return "resolve_timeout_ms = 20\n[[host]]\nname = \"node0\"\n[[host.hca]]\n" + first +
         "\n[[host]]\nname = \"node1\"\n[[host.hca]]\n" + second + "\n";
}

// An HCA whose one GID is of RoCE v1 or v2.
std::string of_type(const std::string& type) {
  return "address = \"10.0.0.2/24\"\n[[host.hca.gids]]\nindex = 0\ngid = \"10.0.0.2\"\ntype = \"" +
         type + "\"\n";
}

std::string one_host(const std::string& address) {
  return "resolve_timeout_ms = 20\n[[host]]\nname = \"node0\"\n[[host.hca]]\ncount = 2\naddress = "
         "\"" +
         address + "\"\n";
}

const std::string kWithinRoute = "[[route]]\nfrom = \"10.0.1.0/24\"\nto = \"10.9.9.0/24\"\n";
std::string rail_and_bond(const std::string& more) {
  return "resolve_timeout_ms = 20\n[[host]]\nname = \"node0\"\n[[host.netdev]]\nname = \"bond0\"\n"
         "kind = \"bond\"\nslaves = [\"eno1\", \"eno2\"]\nspeed_mbps = 400000\n"
         "address = \"10.9.9.1/24\"\n[[host.hca]]\naddress = \"10.0.1.1/24\"\n"
         "[[host.hca]]\nname = \"mlx5_bond_0\"\nnetdev = \"bond0\"\n" +
         more;
}

struct Opened {
  json replies;
  std::vector<json> events[2];
  std::vector<std::string> warned[2];
};

// One link between two devices, and what was told of it.
Opened open_link(const std::string& scenario, int from_dev, int to_dev, const std::string& policy,
                 Environment environment) {
  const ScratchDir scratch;
  if (!policy.empty()) {
    const auto file = scratch.path() / "policy.toml";
    std::ofstream(file) << policy;
    environment["NCCL_NET_DIAG_POLICY"] = file;
  }
  environment.insert(kQuick.begin(), kQuick.end());
  EmulatedJob job(scenario, 2, environment);
  job->setup(shim());
  driver::Link link;
  link.to = 1;
  link.from_dev = from_dev;
  link.to_dev = to_dev;
  Opened out;
  out.replies = job->try_open(link, 4000);
  for (int rank = 0; rank < 2; ++rank) {
    const auto logs = job->rank(rank).run({{"op", "logs"}});
    for (const auto& line : logs["lines"])
      if (line["level"] == 2) out.warned[rank].push_back(line["text"]);
    job->rank(rank).run({{"op", "exit"}});
    CHECK(job->rank(rank).wait_exit() == 0);
  }
  job.check_logs();
  for (int rank = 0; rank < 2; ++rank) out.events[rank] = job.log(rank);
  return out;
}

bool of_pair(const json& event) {
  return event.contains("rule") && event["rule"].get<std::string>().starts_with("pair.");
}

std::vector<json> verdicts(const Opened& opened, int rank) {
  return select(opened.events[rank], of_pair);
}

struct PairRule {
  std::string verdict;  // "rule CAUSE"
  std::string policy;
  bool refused;  // in enforce mode
  std::string broken, near;
  int from_dev = 0, to_dev = 0;  // of the broken one; the near one keeps to them too
};

const std::vector<PairRule>& rules() {
  static const std::vector<PairRule> all = {
      {"pair.subnet SUB-RAIL", "", true, hosts(kRails), hosts(kRails, kRouter), 0, 1},
      {"pair.subnet SUB-RAIL", "[pair]\nsubnet = \"same\"\n", true, hosts(kRails, kRouter),
       hosts("count = 2\naddress = \"10.200.{i}.{h+1}/16\""), 0, 1},
      // The field's report: one node, a rail and a bond, and a job on that node alone.
      {"pair.subnet SUB-INTRA", "", true, rail_and_bond(""), rail_and_bond(kWithinRoute), 0, 1},
      {"pair.subnet SUB-INTRA", "", true, one_host("10.200.{i}.1/24"), one_host("10.0.{i}.1/16"), 0,
       1},
      {"pair.subnet SUB-DIRECT", "", true, hosts("count = 2\naddress = \"10.77.{i}.{h+1}/30\""),
       hosts("count = 2\naddress = \"10.77.{i}.{h+1}/30\"",
             "[[route]]\nfrom = \"10.77.0.0/16\"\nto = \"10.77.0.0/16\"\n"),
       0, 1},
      {"pair.subnet IB-FLID", "", false,
       hosts("link_layer = \"infiniband\"\nsubnet_prefix = \"fec0:0:0:{h+1}::\""),
       hosts("link_layer = \"infiniband\"\nsubnet_prefix = \"fec0:0:0:1::\"")},
      {"pair.rail SUB-RAIL", "[pair]\nrail = \"deny\"\n", true, hosts(kRails, kRouter),
       hosts("count = 2\naddress = \"10.200.{i}.{h+1}/16\""), 0, 1},
      {"pair.family GID-DIFF", "[roce]\nlink_local = \"allow\"\n", true,
       unlike("address = \"10.0.0.1/24\"", "name = \"mlx5_0\""),
       unlike("address = \"10.0.0.1/24\"", "address = \"10.0.0.2/24\"")},
      // Only the sender knows: the listener's handle tells it.
      {"pair.family GID-DIFF", "[roce]\nv1 = \"allow\"\n", true,
       unlike("address = \"10.0.0.1/24\"", of_type("v1")),
       unlike("address = \"10.0.0.1/24\"", of_type("v2"))},
      {"pair.mtu MTU-DIFF", "", false,
       unlike("address = \"10.0.0.1/24\"", "address = \"10.0.0.2/24\"\nmtu = 1024"),
       unlike("address = \"10.0.0.1/24\"", "address = \"10.0.0.2/24\"\nmtu = 4096")},
      {"pair.local SUB-INTRA", "[pair]\nlocal = \"deny\"\n", true,
       "[[host]]\nname = \"node0\"\n[[host.hca]]\n" + std::string("count = 2\n") +
           "address = \"10.0.{i}.1/16\"\n",
       hosts("count = 2\naddress = \"10.0.{i}.{h+1}/16\""), 0, 1},
  };
  return all;
}

}  // namespace

namespace nnd::integration {

std::set<Trouble> pair_troubles() {
  std::set<Trouble> out;
  for (const PairRule& rule : rules()) out.insert(trouble(rule.verdict));
  return out;
}

}  // namespace nnd::integration

TEST_CASE("every rule of pairs that is broken is told before the kernel is asked, or refused",
          "[pairs]") {
  for (const PairRule& rule : rules())
    for (const std::string mode : {"observe", "warn", "enforce"}) {
      INFO(rule.verdict << " in " << mode << "\n" << rule.broken);
      const auto opened = open_link(rule.broken, rule.from_dev, rule.to_dev, rule.policy,
                                    {{"NCCL_NET_DIAG_MODE", mode}});
      const bool refused = rule.refused && mode == "enforce";
      // The receiver moves first; where it is refused the sender never comes so far.
      const int teller = verdicts(opened, 1).empty() ? 0 : 1;
      const auto told = verdicts(opened, teller);
      REQUIRE_FALSE(told.empty());
      CHECK(told[0]["rule"].get<std::string>() + " " + told[0]["cause"].get<std::string>() ==
            rule.verdict);
      CHECK(told[0]["ev"] == (refused ? "policy.refuse" : "policy.warn"));
      CHECK(told[0]["sev"] == (refused ? "error" : mode == "observe" ? "info" : "warn"));
      CHECK(told[0]["conn"].is_number());
      CHECK_FALSE(told[0]["fix"].get<std::string>().empty());
      if (!refused) continue;
      CHECK(opened.replies[teller == 1 ? "accept" : "connect"]["rc"] == 2);
      REQUIRE_FALSE(opened.warned[teller].empty());
      CHECK_THAT(opened.warned[teller].back(), contains(told[0]["msg"].get<std::string>()));
      const auto moves =
          select(of_kind(opened.events[teller], "qp.transition"),
                 [](const json& event) { return event["qp"].value("refused", false); });
      REQUIRE(moves.size() == 1);  // NCCL doesn't try it again
      CHECK(moves[0]["errno"] == 113);
      CHECK(moves[0]["qp"]["attempt"] == 1);
      // A promise of the product: the call fails in less than 50 ms.
      CHECK(moves[0]["dur_us"].get<double>() < 50000);
      const json failed = of_kind(opened.events[teller], "conn.fail").at(0);
      // One failure: the rule, the move that was stopped, and the call that failed.
      for (const json& later : {moves[0], failed}) {
        CHECK(later["cause"] == told[0]["cause"]);
        CHECK(later["failure"] == told[0]["failure"]);
      }
      CHECK(failed["fix"] == told[0]["fix"]);
      CHECK(failed["peer"]["gid"] == moves[0]["peer"]["gid"]);  // known to the receiver by now
    }
}

TEST_CASE("every rule of pairs that is nearly broken is silent", "[pairs]") {
  for (const PairRule& rule : rules())
    for (const std::string mode : {"observe", "warn", "enforce"}) {
      INFO(rule.verdict << " in " << mode << "\n" << rule.near);
      const auto opened = open_link(rule.near, rule.from_dev, rule.to_dev, rule.policy,
                                    {{"NCCL_NET_DIAG_MODE", mode}});
      CHECK(opened.replies["connect"]["rc"] == 0);
      CHECK(opened.replies["accept"]["rc"] == 0);
      for (int rank : {0, 1})
        for (const auto& event : opened.events[rank])
          if (event["sev"] != "info" || event.contains("rule")) FAIL_CHECK(event.dump());
    }
}

TEST_CASE("a rail and a bond of one node: both devices, the subnets and the bond are named") {
  for (const std::string mode : {"warn", "enforce"}) {
    const auto opened = open_link(rail_and_bond(""), 0, 1, "", {{"NCCL_NET_DIAG_MODE", mode}});
    const auto told = verdicts(opened, 1);
    REQUIRE(told.size() == 1);
    for (const char* word : {"mlx5_0:1", "mlx5_bond_0:1 (bond0 over eno1, eno2)", "10.0.1.1",
                             "10.9.9.1/24", "10.0.1.0/24"})
      CHECK_THAT(told[0]["msg"].get<std::string>(), contains(word));
    CHECK_THAT(told[0]["fix"].get<std::string>(), contains("NCCL_IB_HCA=^=mlx5_bond_0"));
  }
  // A QP between two ranks' ends of the same HCA is none of this.
  const auto same = open_link(rail_and_bond(""), 0, 0, "", {{"NCCL_NET_DIAG_MODE", "enforce"}});
  CHECK(same.replies["accept"]["rc"] == 0);
  CHECK(verdicts(same, 0).empty());
  CHECK(verdicts(same, 1).empty());
}

TEST_CASE("the verdict on a pair has the way that the kernel would take") {
  const auto routed = open_link(hosts(kRails, kRouter), 0, 1, "[pair]\nsubnet = \"same\"\n", {});
  const auto told = verdicts(routed, 1);
  REQUIRE_FALSE(told.empty());
  CHECK(told[0]["route"]["reach"] == "routed");
  CHECK(told[0]["route"]["local"] == "10.200.1.2/24");
  CHECK(told[0]["route"]["remote"] == "10.200.0.1");
  CHECK_FALSE(told[0]["route"]["netdev"].get<std::string>().empty());
  const auto cut_off = verdicts(open_link(hosts(kRails), 0, 1, "", {}), 1);
  REQUIRE_FALSE(cut_off.empty());
  CHECK(cut_off[0]["route"]["reach"] == "no_route");
  CHECK_FALSE(cut_off[0]["route"].contains("gateway"));
}

TEST_CASE("InfiniBand against RoCE", "[versions]") {
  // The first releases of NCCL go on to RTR, where the policy judges; the others look by
  // themselves, and end the call without a word to us.
  const bool judged = nccl_version() == "2.18.3";
  const std::string roce = "address = \"10.0.0.1/24\"", infiniband = "link_layer = \"infiniband\"";
  for (const auto& scenario : {unlike(roce, infiniband), unlike(infiniband, roce)})
    for (const std::string mode : {"observe", "warn", "enforce"}) {
      INFO(mode << "\n" << scenario);
      const auto opened = open_link(scenario, 0, 0, "[connect]\ndeadline_sec = 1\n",
                                    {{"NCCL_NET_DIAG_MODE", mode}, {"NCCL_IB_GID_INDEX", "3"}});
      CHECK(opened.replies["accept"]["rc"] != 0);
      CHECK(opened.replies["connect"]["rc"] != 0);
      const auto told = verdicts(opened, 1);
      CHECK(told.empty() != judged);
      for (const auto& event : told) {
        CHECK(event["rule"] == "pair.link_layer");
        CHECK(event["cause"] == "DEV-MIXLL");
        CHECK(event["ev"] == (mode == "enforce" ? "policy.refuse" : "policy.warn"));
      }
      REQUIRE_FALSE(of_kind(opened.events[1], "conn.fail").empty());
      // The sender knows both ends, by the handle; the receiver where its QP comes so far.
      const json sender = of_kind(opened.events[0], "conn.fail").at(0);
      CHECK(sender["cause"] == "DEV-MIXLL");
      CHECK_THAT(sender["msg"].get<std::string>(), contains("InfiniBand") && contains("Ethernet"));
      const std::string receiver = judged ? "DEV-MIXLL" : "RC-3";
      CHECK(of_kind(opened.events[1], "conn.fail").at(0)["cause"] == receiver);
    }
}

TEST_CASE("another traffic class than the policy's is told, and refused in enforce", "[pairs]") {
  const std::string rule = "[roce]\ntraffic_class = 106\n";
  const Environment chosen = {{"NCCL_IB_GID_INDEX", "3"}};
  Environment meant = chosen;
  meant["NCCL_IB_TC"] = "106";
  const std::string scenario = hosts("address = \"10.200.0.{h+1}/24\"");
  for (const auto& event : open_link(scenario, 0, 0, rule, meant).events[1])
    CHECK(event["sev"] == "info");
  const auto warned = open_link(scenario, 0, 0, rule, chosen);
  CHECK(warned.replies["accept"]["rc"] == 0);
  const auto told = select(warned.events[1], [](const json& event) {
    return event.value("rule", "") == "roce.traffic_class";
  });
  REQUIRE(told.size() == 1);
  CHECK(told[0]["cause"] == "ROCE-TC");
  CHECK(told[0]["fix"] == "Set NCCL_IB_TC=106 on every node.");
  const auto enforced = open_link(scenario, 0, 0, "mode = \"enforce\"\n" + rule, chosen);
  CHECK(enforced.replies["accept"]["rc"] == 2);
}

TEST_CASE("rails without a route: named before errno 110, or refused in its place", "[versions]") {
  const auto warned = open_link(hosts(kRails), 0, 1, "",
                                {{"NCCL_NET_DIAG_MODE", "warn"}, {"NCCL_IB_GID_INDEX", "3"}});
  const auto told = verdicts(warned, 1);
  REQUIRE(told.size() == 1);
  CHECK(told[0]["cause"] == "SUB-RAIL");
  const auto failed = select(of_kind(warned.events[1], "qp.transition"),
                             [](const json& event) { return event["rc"] != 0; });
  REQUIRE_FALSE(failed.empty());
  CHECK(failed[0]["errno"] == 110);
  CHECK(told[0]["seq"] < failed[0]["seq"]);

  const auto enforced = open_link(hosts(kRails), 0, 1, "",
                                  {{"NCCL_NET_DIAG_MODE", "enforce"}, {"NCCL_IB_GID_INDEX", "3"}});
  CHECK(enforced.replies["accept"]["rc"] == 2);
  REQUIRE_FALSE(enforced.warned[1].empty());
  CHECK_THAT(enforced.warned[1].back(), contains("no route leaves by"));
}

TEST_CASE("a connection that is not ready by the deadline is an error with its stage",
          "[versions]") {
  const ScratchDir scratch;
  const auto file = scratch.path() / "policy.toml";
  std::ofstream(file) << "[connect]\ndeadline_sec = 0.2\n";
  EmulatedJob job(two_hosts(), 2, {{"NCCL_NET_DIAG_POLICY", file}});
  job->setup(shim());
  const auto listening =
      job->rank(1).run({{"op", "listen"}, {"context", job->context(1)}, {"dev", 0}});
  REQUIRE(listening["rc"] == 0);
  const bool connects = GENERATE(true, false);
  const int rank = connects ? 0 : 1;
  const auto reply = connects ? job->rank(0).run({{"op", "connect"},
                                                  {"context", job->context(0)},
                                                  {"dev", 0},
                                                  {"handle", listening["handle"]},
                                                  {"deadline_ms", 20000}})
                              : job->rank(1).run({{"op", "accept"},
                                                  {"context", job->context(1)},
                                                  {"listener", listening["listener"]},
                                                  {"deadline_ms", 20000}});
  CHECK(reply["rc"] == 2);
  job->all({{"op", "exit"}});
  for (int i = 0; i < 2; ++i) CHECK(job->rank(i).wait_exit() == 0);
  job.check_logs();
  const auto failed = of_kind(job.log(rank), "conn.fail");
  REQUIRE(failed.size() == 1);
  CHECK(failed[0]["cause"] == "HANG-CONNECT");
  CHECK(failed[0]["stage"] == (connects ? "connect" : "accept"));
  CHECK_THAT(failed[0]["msg"].get<std::string>(), contains("stage: "));
  CHECK_THAT(failed[0]["msg"].get<std::string>(), contains("deadline is 200 ms"));
}
