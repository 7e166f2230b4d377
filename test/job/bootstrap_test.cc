// What is said of ranks that can't meet: NCCL's own bootstrap between two hosts of the test's own,
// which something keeps apart.
#include <algorithm>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "job/fabric.h"
#include "job/heard.h"
#include "support/own_network.h"
#include "support/skip.h"

using namespace softcuda;
using namespace nnd::test;
using nlohmann::json;
using What = Action::Kind;
using nnd::report::Blame;
using nnd::report::Kind;

namespace {

constexpr int kSomeSeconds = 12'000;
constexpr double kSoonUs = 12e6;  // a stall is told at 10 s

// Two ranks, one a host, 10.77.0.1 and 10.77.0.2 on the interfaces between them.
struct ApartJob : FabricJob {
  ApartJob() : FabricJob(1) {
    for (const int host : {0, 1}) {
      REQUIRE(hosts.on(host, "ip addr add " + address(host) + "/24 dev eth0"));
      spec.rank_environment[host]["NND_TEST_HOST"] = hosts.file(host);
      spec.rank_environment[host]["NCCL_SOCKET_IFNAME"] = "eth0";
    }
    spec.actions = {{.kind = What::kCreate}, {.kind = What::kDestroy}};
    spec.environment["NCCL_DEBUG"] = "WARN";  // else what stderr is told is in NCCL's lines
  }
  static std::string address(int host) { return "10.77.0." + std::to_string(host + 1); }

  // Until a rank has told of it with that cause and severity, and `report` of it while the job
  // hangs; or the job has ended. The event.
  std::optional<json> run_until(int rank, const std::string& cause, const std::string& sev) {
    result = run([&] {
      if (!told(rank, cause, sev)) return false;
      heard = report_of(dir());
      return true;
    });
    return told(rank, cause, sev);
  }
  std::optional<json> told(int rank, const std::string& cause, const std::string& sev) const {
    for (const char* const name : {"init.stall", "init.fail"})
      for (const json& event : events(rank, name))
        if (event.value("cause", "") == cause && event.at("sev") == sev) return event;
    return std::nullopt;
  }
  std::string all_of(int rank) const {
    std::string out;
    for (const json& event : events(rank))
      if (event.at("sev") != "info" || event.at("ev").get<std::string>().starts_with("init."))
        out += event.dump() + "\n";
    return out;
  }

  // What stderr was told of ours.
  std::vector<std::string> on_stderr(int rank) const {
    std::vector<std::string> out;
    std::istringstream text(result.ranks[static_cast<std::size_t>(rank)].output);
    for (std::string line; std::getline(text, line);)
      if (line.starts_with("libnccl-net-diag: ")) out.push_back(line);
    return out;
  }

  TwoHosts hosts;
  JobResult result;
  Heard heard;
};

bool has(const json& event, const std::string& text) {
  return event.at("msg").get<std::string>().find(text) != std::string::npos;
}

bool no_hosts() {
  const TwoHosts hosts;
  return !hosts.there();
}

// socketConnectCheck of 2.24 and newer.
bool tries_unreachable_again() { return nccl_version() >= 22400; }

}  // namespace

#define NEEDS_HOSTS() \
  if (no_hosts()) NND_SKIP("no network namespaces or no ip here: they need root and iproute2")

TEST_CASE("A firewall that drops: who is silent to whom, and by which interface",
          "[bootstrap][silent]") {
  NEEDS_HOSTS();
  ApartJob job;
  // Packets go to a card that nobody has.
  REQUIRE(job.hosts.on(1, "ip neigh replace 10.77.0.1 lladdr 02:00:00:00:00:99 dev eth0"));
  const auto event = job.run_until(1, "OOB-BLOCKED", "warn");
  INFO(job.all_of(1));
  REQUIRE(event);
  CHECK(event->at("ev") == "init.stall");
  CHECK(event->at("step") == "root");
  CHECK(event->at("target").at("state") == "silent");
  CHECK(event->at("target").at("source") == "10.77.0.2");
  CHECK(event->at("target").at("netdev") == "eth0");
  CHECK(event->at("bootstrap").at("netdev") == "eth0");
  CHECK(has(*event, "10.77.0.2 (eth0) gets no answer from 10.77.0.1:"));
  CHECK(event->at("age_us") <= kSoonUs);
  const auto lines = job.on_stderr(1);
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].find(" warn OOB-BLOCKED: ") != std::string::npos);
  CHECK(job.on_stderr(0).empty());
  check(job.heard, {Kind::kHang, Blame::kNetwork, "rank 1 (node1): OOB-BLOCKED",
                    "10.77.0.2 (eth0) gets no answer from 10.77.0.1:"});
}

TEST_CASE("The root listens on a bridge that every host has: refused at home",
          "[bootstrap][bridge]") {
  NEEDS_HOSTS();
  ApartJob job;
  for (const int host : {0, 1}) {
    REQUIRE(job.hosts.on(host, "ip link add docker0 type bridge"));
    REQUIRE(job.hosts.on(host, "ip addr add 172.17.0.1/16 dev docker0"));
    REQUIRE(job.hosts.on(host, "ip link set docker0 up"));
  }
  job.spec.rank_environment[0]["NCCL_SOCKET_IFNAME"] = "docker0";
  // Up to 2.23 NCCL's second try ends it at once.
  const auto event = job.run_until(1, "OOB-BLOCKED", tries_unreachable_again() ? "warn" : "error");
  INFO(job.all_of(1));
  REQUIRE(event);
  CHECK(event->at("step") == "root");
  CHECK(event->at("target").at("state") == "refused");
  CHECK(event->at("target").at("bridge") == "docker0");
  CHECK(has(*event, "172.17.0.1:"));
  CHECK(has(*event, "docker0"));
}

TEST_CASE("A rank listens where the root can't reach it", "[bootstrap][reply]") {
  NEEDS_HOSTS();
  ApartJob job;
  REQUIRE(job.hosts.on(1, "ip link add docker0 type bridge"));
  REQUIRE(job.hosts.on(1, "ip addr add 172.17.0.2/16 dev docker0"));
  REQUIRE(job.hosts.on(1, "ip link set docker0 up"));
  job.spec.rank_environment[1]["NCCL_SOCKET_IFNAME"] = "docker0";
  // From host 0 that address leads nowhere.
  REQUIRE(job.hosts.on(0, "ip route add 172.17.0.0/16 via 10.77.0.99"));
  REQUIRE(job.hosts.on(0, "ip neigh replace 10.77.0.99 lladdr 02:00:00:00:00:99 dev eth0"));
  const auto root = job.run_until(0, "OOB-BLOCKED", "warn");
  INFO(job.all_of(0) + job.all_of(1));
  REQUIRE(root);
  // The root's thread, or the same process's own rank, which is told to connect there next.
  CHECK((root->at("step") == "reply" || root->at("step") == "next"));
  CHECK(root->at("target").at("state") == "silent");
  CHECK(has(*root, "10.77.0.1 (eth0) gets no answer from 172.17.0.2:"));
  CHECK(root->at("age_us") <= kSoonUs);
  check(job.heard, {Kind::kHang, Blame::kNetwork, "rank 0 (node0): OOB-BLOCKED",
                    "10.77.0.1 (eth0) gets no answer from 172.17.0.2:"});
  const auto event = job.told(1, "INIT-STUCK", "info");
  REQUIRE(event);
  CHECK(event->at("step") == "answer");
  CHECK(event->at("bootstrap").at("netdev") == "docker0");
  CHECK(has(*event, "172.17.0.2:"));
  CHECK(has(*event, "a bridge that this host has for itself"));
  CHECK(has(*event, "10.77.0.2 (eth0)"));
  CHECK(event->at("age_us") <= kSoonUs);
}

TEST_CASE("No way to the root: the errno, at once or when it lasts", "[bootstrap][unreachable]") {
  NEEDS_HOSTS();
  ApartJob job;
  REQUIRE(job.hosts.on(1, "ip route add unreachable 10.77.0.1/32"));
  const auto event = job.run_until(1, "OOB-BLOCKED", tries_unreachable_again() ? "warn" : "error");
  INFO(job.all_of(1));
  REQUIRE(event);
  CHECK(event->at("step") == "root");
  CHECK(event->at("target").at("state") == "unreachable");
  CHECK(event->at("target").at("errno") == 113);
  CHECK(has(*event, "10.77.0.1:"));
}

TEST_CASE("A rank that comes late is no fault", "[bootstrap][late]") {
  FabricJob job(1);
  job.spec.environment["NCCL_DEBUG"] = "WARN";  // else what stderr is told is in NCCL's lines
  job.spec.actions = {{.kind = What::kCompute, .ms = kSomeSeconds, .only_rank = 1},
                      {.kind = What::kCreate},
                      {.kind = What::kCollective, .bytes = 4096},
                      {.kind = What::kDestroy}};
  const JobResult result = job.run();
  INFO(failures(result));
  REQUIRE(result.ok());
  // The rank's, beside the root's, which is in the same process.
  const auto waited = job.events(0, "init.stall");
  const auto own = std::find_if(waited.begin(), waited.end(),
                                [](const json& event) { return event.at("step") == "answer"; });
  REQUIRE(own != waited.end());
  CHECK(own->at("sev") == "info");
  CHECK(own->at("cause") == "INIT-STUCK");
  for (const int rank : {0, 1}) {
    CHECK(job.events(rank, "init.ready").size() == 1);
    for (const json& event : job.events(rank))
      if (event.at("ev").get<std::string>().starts_with("init.")) CHECK(event.at("sev") == "info");
    CHECK(result.ranks[static_cast<std::size_t>(rank)].output.find("libnccl-net-diag:") ==
          std::string::npos);
  }
}
