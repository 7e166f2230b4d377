// The same verdicts before a job and in it: nccl-net-diag check against the plugin's own events,
// over a real libnccl on the emulated fabric.
#include <set>

#include "check/run_tool.h"
#include "integration/harness.h"

using namespace nnd::integration;
using nnd::check_test::Environment;
using nnd::check_test::run_tool;

namespace {

struct Case {
  const char* scenario;  // of examples/scenarios
  const char* mode;
  Environment environment;
};

using Lines = std::multiset<std::string>;

std::string line(std::initializer_list<std::string> parts) {
  std::string out;
  for (const std::string& part : parts) out += part + " | ";
  return out;
}

std::string text(const json& value) { return value.is_string() ? value.get<std::string>() : ""; }

// "mlx5_0 taken, GID 3 ::ffff:10.200.0.1, GPUDirect none" for each port.
Lines ports_of_job(const std::vector<json>& events) {
  std::map<std::string, std::string> gdr;
  for (const json& event : of_kind(events, "gdr.state"))
    gdr[event["dev"]["name"]] = event["way"].get<std::string>();
  Lines out;
  for (const json& event : of_kind(events, "hca.port")) {
    const json& dev = event["dev"];
    out.insert(line({dev["name"], event["verdict"], dev.value("gid_index", json(-1)).dump(),
                     dev.value("gid", ""), dev.value("subnet", ""), gdr[dev["name"]]}));
  }
  return out;
}

Lines ports_of_check(const json& result) {
  Lines out;
  for (const json& hca : result["hcas"]) {
    const json& pick = hca["pick"];
    out.insert(line(
        {hca["name"], hca["verdict"], pick["index"].is_null() ? "-1" : pick["index"].dump(),
         text(pick.value("gid", json())), text(pick.value("subnet", json())), hca["gdr"]["way"]}));
  }
  return out;
}

Lines verdicts_of_job(const std::vector<json>& events) {
  Lines out;
  for (const json& event : events)
    if (event["ev"] == "policy.warn" || event["ev"] == "policy.refuse")
      out.insert(line({event["sev"], event["rule"], event["cause"], event["fact"], event["fix"],
                       event["remaining"].dump()}));
  return out;
}

Lines verdicts_of_check(const json& result) {
  static const std::map<std::string, std::string> kSeverity = {
      {"info", "info"}, {"warn", "warn"}, {"refuse", "error"}};
  Lines out;
  for (const json& one : result["verdicts"])
    out.insert(line({kSeverity.at(one["decision"]), one["rule"], one["cause"], one["fact"],
                     one["remedy"], one["remaining"].dump()}));
  return out;
}

Lines lint(const std::vector<json>& lines) {
  Lines out;
  for (const json& one : lines)
    out.insert(line({one["variable"], one["value"], one["cause"], one["msg"], one["fix"]}));
  return out;
}

}  // namespace

TEST_CASE("check says what the plugin does") {
  const auto one = GENERATE(Case{"two-nodes-8-hca-bond", "warn", {}},
                            Case{"two-nodes-8-hca-bond", "enforce", {}},
                            Case{"two-nodes-8-hca-bond", "observe", {}},
                            Case{"two-nodes-8-hca-bond",
                                 "enforce",
                                 {{"NCCL_IB_HCA", "^=mlx5_3"}, {"NCCL_IB_RETRY_CNT", "10"}}},
                            Case{"two-nodes-8-hca-bond", "warn", {{"NCCL_IB_GID_INDEX", "1"}}},
                            Case{"all-bond", "enforce", {}}, Case{"ib-8-hca", "enforce", {}});
  INFO(one.scenario << " in mode " << one.mode);
  Environment environment = one.environment;
  environment["NCCL_NET_DIAG_MODE"] = one.mode;
  EmulatedJob job(std::string(one.scenario) + ".toml", 2, environment);
  job->setup(shim());
  job->finish();
  job->exit();
  const auto events = job.log(0);

  // What every rank of the emulated fabric has.
  environment["NCCL_NET_PLUGIN"] = "diag";
  environment["NCCL_NET_PLUGIN_REF_COUNT"] = "1";
  environment["NCCL_SOCKET_IFNAME"] = "lo";
  const auto outcome = run_tool({"--json", "--nccl", nccl_version(), "--scenario",
                                 std::string(NND_SCENARIOS) + "/" + one.scenario + ".toml"},
                                environment);
  INFO(outcome.err);
  const json result = outcome.json();
  REQUIRE_FALSE(result["hcas"].empty());
  CHECK(ports_of_check(result) == ports_of_job(events));
  CHECK(verdicts_of_check(result) == verdicts_of_job(events));
  CHECK(lint(result["lint"]) == lint(of_kind(events, "env.lint")));
  CHECK(result["policy"]["mode"] == of_kind(events, "policy.loaded").at(0)["mode"]);
}
