// What NCCL meets when the policy refuses: a device that is missing, a network that is refused as a
// whole, a file that is wrong.
#include <fstream>
#include <iterator>

#include "policy/judged.h"

using namespace nnd;
using namespace nnd::integration;

namespace {

// Rails of two nodes, and on both a slow bond on a network of its own.
const char* const kField = R"(
[[host]]
count = 2
name = "node{h}"
[[host.netdev]]
name = "bond0"
kind = "bond"
slaves = ["eno1", "eno2"]
speed_mbps = 25000
address = "10.1.{h}.11/24"
[[host.hca]]
count = 3
address = "10.200.{i}.{h+1}/24"
[[host.hca]]
name = "mlx5_bond_0"
netdev = "bond0"
speed_mbps = 25000
)";

// A policy file as long as the test runs.
class PolicyFile {
 public:
  explicit PolicyFile(const std::string& text) { std::ofstream(path()) << text; }
  std::string path() const { return scratch_.path() / "policy.toml"; }

 private:
  ScratchDir scratch_;
};

std::vector<std::string> warnings(driver::RankProcess& rank) {
  std::vector<std::string> out;
  const auto logs = rank.run({{"op", "logs"}});
  for (const auto& line : logs["lines"])
    if (line["level"] == 2) out.push_back(line["text"]);
  return out;
}

std::set<std::string> names_of(const json& setup) {
  std::set<std::string> out;
  for (const auto& properties : setup["properties"]) out.insert(properties["name"]);
  return out;
}

// init and devices succeed, and listen fails with the sentence.
void check_refused(const std::string& scenario, const std::string& policy, Environment environment,
                   const std::string& sentence) {
  const PolicyFile file(policy);
  if (!policy.empty()) environment["NCCL_NET_DIAG_POLICY"] = file.path();
  EmulatedJob job(scenario, 1, environment);
  const auto setup = job->setup(shim());
  CHECK(setup[0]["devices"] >= 1);
  const auto reply = job->rank(0).run({{"op", "listen"}, {"context", job->context(0)}, {"dev", 0}});
  CHECK(reply["rc"] == 2);
  const auto warned = warnings(job->rank(0));
  REQUIRE_FALSE(warned.empty());
  CHECK_THAT(warned.back(), contains(": listen: the network is refused"));
  CHECK_THAT(warned.back(), contains(sentence));
  job->finish();
  job->exit();
  job.check_logs();
  const auto failed = of_kind(job.log(0), "conn.fail");
  REQUIRE(failed.size() == 1);
  // For the reason that was told when it was found.
  const auto reasons = select(job.log(0), [&](const json& event) {
    return event["ev"].get<std::string>().starts_with("policy.") &&
           event.value("failure", 0) == failed[0]["failure"];
  });
  REQUIRE(reasons.size() == 1);
  CHECK(reasons[0]["cause"] == failed[0]["cause"]);
  CHECK_THAT(failed[0]["msg"].get<std::string>(), contains(sentence));
}

}  // namespace

TEST_CASE("a refused HCA is not there, and the job runs on the others", "[versions]") {
  EmulatedJob job(kField, 2, {{"NCCL_NET_DIAG_MODE", "enforce"}});
  const auto setup = job->setup(shim());
  for (const auto& rank : setup)
    CHECK(names_of(rank) == std::set<std::string>{"mlx5_0", "mlx5_1", "mlx5_2"});
  auto links = job->ring(3);
  job->open(links);
  job->move(links, {});
  job->close(links);
  job->finish();
  job->exit();
  job.check_logs();
  const auto refused = of_kind(job.log(0), "policy.refuse");
  REQUIRE(refused.size() == 1);
  CHECK(refused[0]["cause"] == "DEV-BOND");
  CHECK(refused[0]["fix"] == "NCCL_IB_HCA==mlx5_0,mlx5_1,mlx5_2");
  CHECK(refused[0]["remaining"] == json{"mlx5_0:1", "mlx5_1:1", "mlx5_2:1"});
}

TEST_CASE("NCCL's places go to the compute fabric: thirty-two planes beside two front-end HCAs") {
  std::ifstream in(NND_SOURCE_DIR "/examples/fleets/planes-32-front-2.toml");
  const std::string planes{std::istreambuf_iterator<char>(in), {}};
  Judged judged(planes, "", {}, {"warn", "enforce"});
  // NCCL numbers the functions of a card as its ports: the names tell.
  const auto names = [&judged](std::size_t rank) {
    std::set<std::string> out;
    for (const std::string& device : judged.ranks()[rank].devices)
      out.insert(device.substr(0, device.find(':')));
    return out;
  };
  const auto warned = names(0), enforced = names(1);
  CHECK(warned.size() == 32);
  CHECK(warned.contains("mlx5_0"));
  CHECK_FALSE(warned.contains("mlx5_33"));
  CHECK(enforced.size() == 32);
  CHECK_FALSE(enforced.contains("mlx5_0"));
  CHECK_FALSE(enforced.contains("mlx5_1"));
  CHECK(enforced.contains("mlx5_32"));
  CHECK(enforced.contains("mlx5_33"));
  judged.end();
  for (const auto& event : of_kind(judged.log(1), "hca.port")) {
    const bool front = event["dev"]["name"] == "mlx5_0" || event["dev"]["name"] == "mlx5_1";
    CHECK(event["verdict"] == (front ? "refused" : "taken"));
  }
}

TEST_CASE("without the shim the same bond ends in errno 110, and in warn mode it is named before",
          "[versions]") {
  // 2.18 doesn't choose a GID by itself.
  const Environment quick = {{"NCCL_IB_GID_INDEX", "3"},
                             {"NCCL_IB_MQP_RETRY_CNT", "1"},
                             {"NCCL_IB_MQP_RETRY_SLEEP_MSEC", "1"},
                             {"NCCL_DEBUG", "WARN"}};
  const auto open_bond = [](EmulatedJob& job) {
    driver::Link link;
    link.to = 1;
    link.from_dev = link.to_dev = 3;
    const auto replies = job->try_open(link, 4000);
    CHECK(replies["accept"]["rc"] == 2);
    job->all({{"op", "exit"}});
    for (int rank = 0; rank < 2; ++rank) CHECK(job->rank(rank).wait_exit() == 0);
  };
  EmulatedJob without(kField, 2, quick);
  CHECK(names_of(without->setup(builtin())[1]).contains("mlx5_bond_0"));
  open_bond(without);
  std::ifstream printed(without.fabric().dir() / "rank-1.out");
  const std::string output{std::istreambuf_iterator<char>(printed),
                           std::istreambuf_iterator<char>()};
  CHECK_THAT(output, contains("ibv_modify_qp failed with"));
  CHECK_THAT(output, contains("Connection timed out"));

  EmulatedJob with_shim(kField, 2, quick);
  with_shim->setup(shim());
  open_bond(with_shim);
  with_shim.check_logs();
  const auto told = of_kind(with_shim.log(1), "policy.warn");
  REQUIRE(told.size() == 2);
  CHECK(told[0]["cause"] == "DEV-BOND");  // at init
  CHECK(told[1]["cause"] == "SUB-RAIL");  // before the kernel looks for the peer
  const auto failed = select(of_kind(with_shim.log(1), "qp.transition"),
                             [](const json& event) { return event["rc"] != 0; });
  REQUIRE_FALSE(failed.empty());
  CHECK(failed[0]["errno"] == 110);
  CHECK(told[1]["seq"] < failed[0]["seq"]);
}

TEST_CASE("the user's own list comes first and is never widened", "[versions]") {
  struct Row {
    std::string hcas;
    std::set<std::string> left;
  };
  const auto row = GENERATE(Row{"mlx5_1,mlx5_bond_0", {"mlx5_1"}},
                            Row{"^mlx5_0", {"mlx5_1", "mlx5_2"}}, Row{"=mlx5_2:1", {"mlx5_2"}});
  CAPTURE(row.hcas);
  EmulatedJob job(kField, 1, {{"NCCL_NET_DIAG_MODE", "enforce"}, {"NCCL_IB_HCA", row.hcas}});
  CHECK(names_of(job->setup(shim())[0]) == row.left);
  job->finish();
  job->exit();
}

TEST_CASE("one refused port of two is down, the other stays", "[versions]") {
  const std::string two_ports = R"(
[[host]]
[[host.hca]]
count = 2
ports = 2
address = "10.{p+200}.{i}.1/24"
)";
  const PolicyFile file("[roce]\nsubnets = [\"10.201.0.0/16\"]");
  EmulatedJob job(two_ports, 1,
                  {{"NCCL_NET_DIAG_MODE", "enforce"},
                   {"NCCL_NET_DIAG_POLICY", file.path()},
                   {"NCCL_IB_GID_INDEX", "3"}});
  CHECK(job->setup(shim())[0]["devices"] == 2);
  job->finish();
  job->exit();
}

TEST_CASE("nothing left: whoever uses the network fails with the sentence", "[versions]") {
  check_refused(kField, "mode = \"enforce\"\n[hca]\ndeny = [\"mlx5_[0-9]\", \"mlx5_bond_0\"]", {},
                "The policy refuses every HCA of this node");
}

TEST_CASE("a transport that can't even start is replaced by the placeholder", "[versions]") {
  check_refused("[[host]]\n[[host.hca]]\nstate = \"down\"\n",
                "mode = \"enforce\"\n[fallback]\nsocket = \"deny\"", {}, "NCCL would use TCP");
}

TEST_CASE("a policy file that is wrong refuses the network where it is to be enforced") {
  const std::string wrong = "mode = \"enforce\"\n\n[hca]\nbnod = \"deny\"\n";
  check_refused(kField, wrong, {}, "policy.toml:4: hca.bnod: unknown key; did you mean hca.bond?");
  check_refused(kField, "mode = \"enfroce\"\n", {}, "policy.toml:1: mode: ");
  check_refused(kField, "", {{"NCCL_NET_DIAG_MODE", "enforce"}, {"NCCL_NET_DIAG_POLICY", "/none"}},
                "/none: can't be read");
}

TEST_CASE("a policy file that is wrong is told, and the job runs by the built-in rules") {
  const PolicyFile file("[hca]\nbnod = \"deny\"\n");
  EmulatedJob job(two_hosts(), 2, {{"NCCL_NET_DIAG_POLICY", file.path()}});
  job.run_all(shim(), 1);
  job.check_logs();
  const auto warned = of_severity(job.log(0), "warn");
  REQUIRE(warned.size() == 1);
  CHECK(warned[0]["ev"] == "policy.loaded");
  CHECK_THAT(warned[0]["msg"].get<std::string>(), contains("did you mean hca.bond?"));
}

TEST_CASE("a mode that is misspelt counts as enforce") {
  EmulatedJob job(kField, 1, {{"NCCL_NET_DIAG_MODE", "enfroce"}});
  CHECK(names_of(job->setup(shim())[0]) == std::set<std::string>{"mlx5_0", "mlx5_1", "mlx5_2"});
  job->finish();
  job->exit();
}

TEST_CASE("when = \"init\" fails where NCCL looks at the topology, not where it chooses",
          "[versions]") {
  const PolicyFile file("mode = \"enforce\"\n[hca]\nmin_count = 9\n[fallback]\nwhen = \"init\"\n");
  EmulatedJob job(kField, 1, {{"NCCL_NET_DIAG_POLICY", file.path()}});
  job->rank(0).run(shim().request());
  CHECK(job->rank(0).run({{"op", "init"}})["rc"] == 0);
  const auto devices = job->rank(0).run({{"op", "devices"}});
  CHECK(devices["rc"] == 0);
  const int count = devices["count"];
  REQUIRE(count == 4);  // three rails, and the one that can't be had
  CHECK(job->rank(0).run({{"op", "properties"}, {"dev", 0}})["rc"] == 0);
  CHECK(job->rank(0).run({{"op", "properties"}, {"dev", count - 1}})["rc"] == 2);
  const auto warned = warnings(job->rank(0));
  REQUIRE_FALSE(warned.empty());
  CHECK_THAT(warned.back(), contains("the policy asks for 9"));
  job->rank(0).run({{"op", "exit"}});
  CHECK(job->rank(0).wait_exit() == 0);
}

TEST_CASE("NCCL that took its HCAs before we came is not let through", "[versions]") {
  EmulatedJob job(two_hosts(), 1, {{"NCCL_NET_DIAG_MODE", "enforce"}});
  job->setup(builtin());
  job->rank(0).run(shim().request());
  CHECK(job->rank(0).run({{"op", "init"}})["rc"] == 0);
  CHECK(job->rank(0).run({{"op", "devices"}})["count"] == 1);
  CHECK(job->rank(0).run({{"op", "listen"}, {"dev", 0}})["rc"] == 2);
  CHECK_THAT(warnings(job->rank(0)).back(), contains("policy can't be enforced"));
  job->rank(0).run({{"op", "exit"}});
  CHECK(job->rank(0).wait_exit() == 0);
}
