// A failure is diagnosed once: for every way in which the emulated fabric fails, all events of one
// failure have one cause, one number and one advice, and so have the summary and NCCL's logger. The
// same without a fault tells of none.
#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include "integration/harness.h"

using namespace nnd;
using namespace nnd::integration;

namespace {

using Environment = std::map<std::string, std::string>;

// A kernel that gives up at once, and NCCL 2.24 and newer that tries once more.
const Environment kQuick = {
    {"NCCL_IB_MQP_RETRY_CNT", "1"},
    {"NCCL_IB_MQP_RETRY_SLEEP_MSEC", "1"},
    // NCCL before 2.21 takes index 0 unless told otherwise, a link-local GID.
    {"NCCL_IB_GID_INDEX", "3"}};
const Environment kChosenGid = {{"NCCL_IB_GID_INDEX", "-1"}};  // by NCCL
// Packets that are lost are told within milliseconds.
const Environment kImpatient = {{"NCCL_IB_TIMEOUT", "8"}, {"NCCL_IB_RETRY_CNT", "1"}};
constexpr int kShortMs = 3000;
// For as long as NCCL's thread for events may need until it runs.
constexpr int kUntilTold = 20000;

struct Scenario {
  std::string name;
  std::string text;
  std::set<std::string> causes;  // one of these
  std::string policy = {};
  int from_dev = 0;
  int to_dev = 0;
  Environment more = {};
  int transfers = 16;
};

std::string fault(const std::string& keys) { return two_hosts("[[fault]]\n" + keys + "\n"); }
std::string refused(const std::string& error) {
  return fault("kind = \"refuse-rtr\"\nhost = \"node1\"\nerrno = \"" + error + "\"");
}
std::string failing(const std::string& verb, const std::string& error) {
  return fault("kind = \"fail-call\"\nhost = \"node0\"\nverb = \"" + verb + "\"\nerrno = \"" +
               error + "\"\ntimes = 0");
}
std::string broken_request(const std::string& status) {
  return fault("kind = \"fail-wr\"\nhost = \"node0\"\nnth = 3\nstatus = \"" + status + "\"");
}
std::string rails(const std::string& more = "") {
  return "resolve_timeout_ms = 20\n[[host]]\ncount = 2\nname = \"node{h}\"\n[[host.hca]]\n"
         "count = 2\naddress = \"10.200.{i}.{h+1}/24\"\n" +
         more;
}

// Two hosts whose HCAs differ in these lines; GIDs that no fabric should have are allowed.
std::string unlike(const std::string& first, const std::string& second) {
  return "resolve_timeout_ms = 20\n[[host]]\nname = \"node0\"\n[[host.hca]]\n" + first +
         "\n[[host]]\nname = \"node1\"\n[[host.hca]]\n" + second + "\n";
}

const std::string kLinkDown = fault("kind = \"link-down\"\nhost = \"node0\"\nafter_messages = 3");

const std::vector<Scenario>& scenarios() {
  // Which of the two it is depends on the limit that the test runs with.
  static const std::set<std::string> no_memory = {"LIM-MEMLOCK", "LIM-MEMLOCK2"};
  static const std::vector<Scenario> all = {
      {"an address that does not resolve", refused("ETIMEDOUT"), {"QP-110"}},
      {"an attribute that does not fit", refused("EINVAL"), {"QP-22"}},
      {"an interface that is gone", refused("ENODEV"), {"QP-19"}},
      {"a GID that is gone", refused("ENODATA"), {"QP-61"}},
      {"no route that the facts know of", refused("ENETUNREACH"), {"QP-101"}},
      {"a router that does not answer", refused("EHOSTUNREACH"), {"QP-113"}},
      {"no memory to move a QP", refused("ENOMEM"), {"QP-12"}},
      {"another rail", rails(), {"SUB-RAIL"}, "", 0, 1},
      {"another rail, observed", rails(), {"SUB-RAIL"}, "mode = \"observe\"\n", 0, 1},
      {"another rail, refused", rails(), {"SUB-RAIL"}, "mode = \"enforce\"\n", 0, 1},
      {"another rail, no rule", rails(), {"SUB-RAIL"}, "[pair]\nsubnet = \"any\"\n", 0, 1},
      {"a QP finds no memory", failing("ibv_create_qp", "ENOMEM"), no_memory},
      {"a CQ finds no memory", failing("ibv_create_cq", "ENOMEM"), no_memory},
      {"a registration finds no memory", failing("ibv_reg_mr", "ENOMEM"), no_memory},
      {"a CQ that can't be made", failing("ibv_create_cq", "EINVAL"), {"CQ-ERRNO"}},
      {"a QP that can't be made", failing("ibv_create_qp", "EINVAL"), {"QP-22"}},
      {"a registration that is denied", failing("ibv_reg_mr", "EINVAL"), {"MR-22"}},
      {"a protection domain that is denied", failing("ibv_alloc_pd", "EPERM"), {"VERBS-ERRNO"}},
      {"a peer that does not answer", broken_request("RETRY_EXC_ERR"), {"WC-12"}},
      {"memory out of reach", broken_request("LOC_PROT_ERR"), {"WC-4"}},
      {"access denied by the peer", broken_request("REM_ACCESS_ERR"), {"WC-10"}},
      {"a flush alone", broken_request("WR_FLUSH_ERR"), {"WC-5"}},
      {"an HCA that dies",
       fault("kind = \"async-event\"\nhost = \"node0\"\nevent = \"DEVICE_FATAL\"\n"
             "after_messages = 3"),
       {"ASYNC-FATAL"},
       "",
       0,
       0,
       {},
       kUntilTold},
      {"a link that goes down under traffic", kLinkDown, {"ASYNC-PORT"}, "", 0, 0, kImpatient},
      {"a peer's machine that is gone",
       fault("kind = \"lose-peer\"\nhost = \"node1\"\nafter_messages = 3"),
       {"WC-12"},
       "",
       0,
       0,
       kImpatient},
      {"an IPv4 and a link-local GID",
       unlike("address = \"10.0.0.1/24\"", "name = \"mlx5_0\""),
       {"GID-DIFF"},
       "",
       0,
       0,
       kChosenGid},
      {"an IPv4 and a link-local GID, refused",
       unlike("address = \"10.0.0.1/24\"", "name = \"mlx5_0\""),
       {"GID-DIFF"},
       "mode = \"enforce\"\n[roce]\nlink_local = \"allow\"\n",
       0,
       0,
       kChosenGid},
      {"InfiniBand and Ethernet",
       unlike("address = \"10.0.0.1/24\"", "link_layer = \"infiniband\""),
       {"DEV-MIXLL", "RC-3"}},
      {"a deadline of the policy's",
       rails(),
       {"SUB-RAIL"},
       "[connect]\ndeadline_sec = 0.2\n",
       0,
       1},
      {"too few HCAs", two_hosts(), {"INC-NDEVS"}, "mode = \"enforce\"\n[hca]\nmin_count = 2\n"},
      {"a policy that is wrong", two_hosts(), {"POLICY"}, "mode = \"enforce\"\nx = 1\n"},
  };
  return all;
}

struct Told {
  std::vector<json> events;
  std::vector<json> lines;  // of NCCL's logger
};

// One link and some data over it, as far as they go; of both ranks.
std::vector<Told> run(const Scenario& scenario) {
  const ScratchDir scratch;
  Environment environment = scenario.more;
  environment.insert(kQuick.begin(), kQuick.end());
  if (!scenario.policy.empty()) {
    const auto file = scratch.path() / "policy.toml";
    std::ofstream(file) << scenario.policy;
    environment["NCCL_NET_DIAG_POLICY"] = file;
  }
  EmulatedJob job(scenario.text, 2, environment);
  job->setup(shim());
  driver::Link link = job->ring(1).front();
  link.from_dev = scenario.from_dev;
  link.to_dev = scenario.to_dev;
  const auto opened = job->try_open(link, kShortMs);
  if (link.send_conn != 0 && link.recv_conn != 0) {
    driver::Traffic traffic;
    traffic.sizes = {65536};
    traffic.repeat = scenario.transfers;
    job->try_move(link, traffic, kShortMs);
  }
  std::vector<Told> told(2);
  for (int rank = 0; rank < 2; ++rank)
    told[static_cast<std::size_t>(rank)].lines =
        job->rank(rank).run({{"op", "logs"}})["lines"].get<std::vector<json>>();
  job->all({{"op", "exit"}});
  for (int rank = 0; rank < 2; ++rank) {
    CHECK(job->rank(rank).wait_exit() == 0);
    told[static_cast<std::size_t>(rank)].events = job.log(rank);
  }
  job.check_logs();
  return told;
}

std::map<int, std::vector<json>> by_failure(const std::vector<json>& events) {
  std::map<int, std::vector<json>> out;
  for (const auto& event : events)
    if (event.contains("failure") && event["ev"] != "summary")
      out[event["failure"].get<int>()].push_back(event);
  return out;
}

// NCCL's logger has "CAUSE: sentence remedy" at WARN, as the last line before the error.
void check_last_warning(const Told& told, const json& fail) {
  const std::string expected = "NET/DIAG " + fail["cause"].get<std::string>() + ": " +
                               fail["msg"].get<std::string>().substr(0, 200);
  INFO(json(told.lines).dump());
  CHECK(std::any_of(told.lines.begin(), told.lines.end(), [&](const json& line) {
    return line["level"] == 2 && line["text"].get<std::string>().starts_with(expected);
  }));
}

void check_one_story(const Told& told) {
  const auto failures = by_failure(told.events);
  for (const auto& [number, events] : failures) {
    INFO("failure " << number);
    std::set<std::string> fixes;
    for (const auto& event : events) {
      INFO(event.dump());
      CHECK(event["cause"] == events.front()["cause"]);
      if (event.contains("fix")) fixes.insert(event["fix"]);
    }
    CHECK(fixes.size() == 1);
  }
  for (const auto& fail : of_kind(told.events, "conn.fail")) {
    INFO(fail.dump());
    REQUIRE(fail.contains("failure"));
    if (fail["sev"] == "error") check_last_warning(told, fail);
  }
  for (const char* kind : {"qp.transition", "qp.create", "mr.register", "wc.error"})
    for (const auto& event : of_kind(told.events, kind))
      if (event["sev"] != "info") CHECK(event.contains("failure"));

  const auto summaries = of_kind(told.events, "summary");
  REQUIRE(summaries.size() == 1);
  std::map<int, json> listed;
  for (const auto& failure : summaries[0]["failures"]) listed[failure["failure"]] = failure;
  CHECK(summaries[0]["failures_total"] == listed.size());
  for (const auto& [number, failure] : listed) {
    INFO(failure.dump());
    REQUIRE(failures.contains(number));
    CHECK(failure["cause"] == failures.at(number).front()["cause"]);
    CHECK(failure["events"] == failures.at(number).size());
  }
  // A broken rule or a port's word that nothing failed of is no failure.
  static const std::set<std::string> signs{"policy.warn", "port.event", "conn.stall"};
  for (const auto& [number, events] : failures)
    if (std::any_of(events.begin(), events.end(), [](const json& event) {
          return event["sev"] == "error" || !signs.contains(event["ev"].get<std::string>());
        }))
      CHECK(listed.contains(number));
}

bool tells_as_one(const Scenario& scenario, const std::set<std::string>& kinds) {
  for (const Told& rank : run(scenario))
    for (const auto& [number, events] : by_failure(rank.events)) {
      std::set<std::string> seen;
      for (const auto& event : events) seen.insert(event["ev"]);
      if (std::includes(seen.begin(), seen.end(), kinds.begin(), kinds.end())) return true;
    }
  return false;
}

}  // namespace

TEST_CASE("all events of a failure have one cause, one number and one advice") {
  for (const Scenario& scenario : scenarios()) {
    INFO(scenario.name);
    bool ended = false;
    for (const Told& told : run(scenario)) {
      check_one_story(told);
      for (const auto& event : told.events)
        if (event["ev"] == "conn.fail" && event["sev"] == "error")
          ended = ended || scenario.causes.contains(event["cause"].get<std::string>());
    }
    CHECK(ended);
  }
}

TEST_CASE("a broken rule, the failed move and the lost connection are one failure") {
  CHECK(tells_as_one({"another rail", rails(), {}, "", 0, 1},
                     {"policy.warn", "qp.transition", "conn.fail"}));
}

TEST_CASE("a port that goes down, the failed requests and the lost connection are one failure") {
  CHECK(tells_as_one({"a link that goes down", kLinkDown, {}, "", 0, 0, kImpatient},
                     {"port.event", "wc.error", "conn.fail"}));
}

namespace {

// Two HCAs a host in one subnet, settings of a host, and an address that does not resolve, or a
// first packet that is not answered.
std::string shared_subnet(const std::string& settings, const std::string& keys) {
  return "[[host]]\ncount = 2\nname = \"node{h}\"\n" + settings +
         "[[host.hca]]\ncount = 2\naddress = \"10.0.{h}.{i+1}/16\"\n"
         "[[host.neighbour]]\naddress = \"10.0.0.1\"\ndev = \"ens0np1\"\nstate = \"failed\"\n" +
         (keys.empty() ? "" : "[[fault]]\nhost = \"node1\"\n" + keys);
}

constexpr const char* kUnresolved = "kind = \"refuse-rtr\"\nerrno = \"ETIMEDOUT\"\n";

}  // namespace

TEST_CASE("a failure says how the kernel has the way to the peer") {
  const auto find = [](const std::vector<json>& events, const char* kind) {
    for (const json& event : of_kind(events, kind))
      if (event.contains("path") && event["sev"] != "info") return event;
    FAIL(std::string(kind) + " without a path");
    return json();
  };
  const auto unresolved =
      find(run({"", shared_subnet("arp_ignore = 1\nrp_filter = 2\n", kUnresolved), {}})[1].events,
           "qp.transition");
  CHECK(unresolved["cause"] == "QP-110");
  CHECK(unresolved["path"] == json{{"netdev", "ens0np1"}, {"neighbour", "failed"}});
  CHECK_THAT(unresolved["msg"].get<std::string>(),
             contains("neighbour 10.0.0.1 dev ens0np1: FAILED"));
  const auto unanswered =
      find(run({"",
                shared_subnet("", "kind = \"fail-wr\"\nnth = 3\nstatus = \"RETRY_EXC_ERR\"\n"),
                {}})[1]
               .events,
           "wc.error");
  CHECK(unanswered["cause"] == "WC-12");
  CHECK_THAT(unanswered["msg"].get<std::string>(),
             contains("neighbour 10.0.0.1 dev ens0np1: FAILED"));
}

TEST_CASE(
    "interfaces that share a subnet are blamed where their settings make ends miss each other") {
  const auto causes = [](const std::string& settings, const std::string& keys) {
    std::set<std::string> out;
    for (const Told& told : run({"", shared_subnet(settings, keys), {}}))
      for (const json& event : told.events)
        if (event["sev"] != "info" && event.contains("cause") && event["ev"] != "env.lint")
          out.insert(event["cause"].get<std::string>());
    return out;
  };
  CHECK(causes("rp_filter = 1\n", kUnresolved).contains("SUB-SAME"));
  CHECK_FALSE(causes("arp_ignore = 1\nrp_filter = 2\n", kUnresolved).contains("SUB-SAME"));
  CHECK(causes("arp_ignore = 0\nrp_filter = 1\n", "").empty());
}

TEST_CASE("a healthy link tells of no failure") {
  for (const std::string& text :
       {two_hosts(), rails("[[route]]\nfrom = \"10.200.0.0/16\"\nto = \"10.200.0.0/16\"\n")}) {
    Scenario scenario{"healthy", text, {}};
    scenario.to_dev = text == two_hosts() ? 0 : 1;
    for (const Told& told : run(scenario)) {
      CHECK(by_failure(told.events).empty());
      CHECK(of_kind(told.events, "summary").at(0)["failures"].empty());
      for (const char* severity : {"warn", "error"})
        for (const auto& event : of_severity(told.events, severity)) FAIL_CHECK(event.dump());
    }
  }
}
