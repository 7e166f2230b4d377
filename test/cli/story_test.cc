// One failure is told alike by all who tell it: the event log, its summary, NCCL's own output,
// `demo`, `rehearse` and `ping`.
#include <fstream>
#include <set>

#include "cli/fabrics.h"
#include "cli/tool.h"
#include "support/catch.h"
#include "support/event_log.h"

using namespace nnd::cli_test;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

struct Failure {
  std::string cause, scenario;
};

// Gives up at the first errno, without NCCL's minute of retries.
const std::string kNccl = "2.23.4";

// The process that failed first names the cause. Its peer, whose sockets to it are closed, says
// RC-6, or RC-2 or OOB-CLOSED where it was still dialling: look there. It may say so after its
// summary: NCCL's threads go on while the process exits.
void check_logs(const fs::path& logs, const std::string& cause) {
  std::set<std::string> failed, summed;
  bool printed = false;
  for (const auto& entry : fs::directory_iterator(logs)) {
    if (entry.path().extension() == ".out") {
      std::ifstream in(entry.path());
      for (std::string line; std::getline(in, line);)
        printed = printed || line.find("NCCL WARN NET/DIAG " + cause + ": ") != std::string::npos;
      continue;
    }
    for (const auto& event : nnd::test::read_log(entry.path())) {
      if (event["ev"] == "conn.fail" && event["sev"] == "error") failed.insert(event["cause"]);
      if (event["ev"] == "summary")
        for (const auto& one : event["failures"]) summed.insert(one["cause"]);
    }
  }
  CHECK(printed);
  CHECK(failed.contains(cause));
  for (auto* const causes : {&failed, &summed})
    for (const char* const echo : {"RC-6", "RC-2", "OOB-CLOSED"}) causes->erase(echo);
  CHECK(failed == std::set<std::string>{cause});
  CHECK(summed == failed);
}

json run_json(std::vector<std::string> arguments) {
  arguments.emplace_back("--json");
  const Outcome outcome = run_tool(arguments);
  INFO(outcome.out << outcome.err);
  CHECK(outcome.exit_code == 1);
  return outcome.json();
}

}  // namespace

TEST_CASE("one failure has one cause, whoever tells it", "[story]") {
  const std::vector<Failure> failures = {
      {"SUB-RAIL", kApart},
      {"QP-22",
       kTogether + "[[fault]]\nkind = \"refuse-rtr\"\nhost = \"node1\"\nerrno = \"EINVAL\"\n"},
      {"WC-12", kTogether + "[[fault]]\nkind = \"fail-wr\"\nhost = \"node0\"\nnth = 3\nstatus = "
                            "\"RETRY_EXC_ERR\"\n"},
  };
  for (const auto& [cause, text] : failures) {
    INFO(cause);
    const TemporaryDir dir;
    const std::string scenario = dir.file("fabric.toml", text);
    Tool demo({"demo", "--scenario", scenario, "--nccl", kNccl, "--json"});
    const Outcome outcome = demo.wait();
    INFO(outcome.out << outcome.err);
    CHECK(outcome.exit_code == 1);
    const json shown = outcome.json();
    CHECK(shown["report"]["cause"] == cause);
    const auto logs = shown["logs"].get<std::string>();
    const json reported = run_json({"report", logs});
    CHECK(reported["cause"] == cause);
    CHECK(reported["verdict"] == shown["report"]["verdict"]);
    CHECK(shown["verdict"] == "The job failed. " + reported["verdict"].get<std::string>());
    CHECK(shown["verdict"].get<std::string>().find(cause + ", ") != std::string::npos);
    check_logs(logs, cause);

    const json rehearsed =
        run_json({"rehearse", "--scenario", scenario, "--nccl", kNccl, "--iterations", "1"});
    CHECK(rehearsed["report"]["cause"] == cause);
    CHECK(rehearsed["verdict"] ==
          "The rehearsal failed. " + rehearsed["report"]["verdict"].get<std::string>());

    const json pinged = run_json(
        {"ping", "--scenario", scenario, "--nccl", kNccl, "--duration", "0.02", "--sizes", "64K"});
    REQUIRE(pinged["pairs"].size() == 1);
    CHECK(pinged["pairs"][0]["cause"] == cause);
  }
}
