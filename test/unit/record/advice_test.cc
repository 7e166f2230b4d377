#include <string>
#include <vector>

#include "fixture.h"
#include "state/failure.h"
#include "support/catch.h"

using namespace nnd::record;
using namespace nnd::record::testing;

namespace {

using nccl_net_diag::Cause;

void bad_completion(const char* device, int port, const char* msg = "Saw it") {
  Event(EventId::kWcError, Severity::kError)
      .object("dev")
      .add("name", device)
      .add("port", port)
      .end()
      .object("qp")
      .add("name", "no subject")
      .end()
      .diagnose({Cause::kWc12, msg, "Do this."})
      .emit();
}

}  // namespace

TEST_CASE("an error is announced once it counts, and before it is written") {
  static std::uint64_t failures, lines;
  static std::string path;
  const TempDir dir;
  path = dir / "log.jsonl";
  start(log_to(path));
  REQUIRE(eventually([] { return exists(path); }));
  set_error_hook([]() noexcept {
    failures = nnd::state::list_failures(1).total;
    lines = read_log(path).size();
  });
  const auto failure = nnd::state::begin_failure({}, {Cause::kWc12, "Saw it", "Do this."});
  Event(EventId::kWcError).diagnose(failure.diagnosis, failure.number).emit();
  CHECK(failures == 0);
  Event(EventId::kWcError, Severity::kError).diagnose(failure.diagnosis, failure.number).emit();
  set_error_hook(nullptr);
  CHECK(failures == 1);
  CHECK(lines <= 1);  // the first
  stop();
  CHECK(only(read_log(path), "wc.error").size() == 2);
}

TEST_CASE("advice: one line of NCCL's logger per cause and device, the rest is counted") {
  const TempDir dir;
  const CapturedAdvice told;
  start(log_to(dir / "log.jsonl"));
  for (int i = 0; i < 10; ++i) bad_completion("mlx5_0", 1);
  bad_completion("mlx5_1", 1, "It ended with a dot.");
  bad_completion("mlx5_1", 2);
  Event(EventId::kConnFail, Severity::kWarn)
      .diagnose({Cause::kHangConnect, "100% stuck %s\nNCCL \x1b[2J", ""})
      .emit();
  Event(EventId::kConnOpen).diagnose({Cause::kDevBond, "an info is no advice", ""}).emit();
  Event(EventId::kConnFail, Severity::kWarn).emit();
  stop();
  CHECK(told.lines() == std::vector<std::string>{
                            "3/17 NET/DIAG WC-12: Saw it. Do this.",
                            "3/17 NET/DIAG WC-12: It ended with a dot. Do this.",
                            "3/17 NET/DIAG WC-12: Saw it. Do this.",
                            "3/17 NET/DIAG HANG-CONNECT: 100% stuck %s?NCCL ?[2J",
                        });
  const auto lines = read_log(dir / "log.jsonl");
  REQUIRE(lines.size() == 12 + 3 + 1);
  const Json& summary = lines.back();
  CHECK(summary.at("ev") == "summary");
  CHECK(summary.at("causes") == Json::parse(R"({"WC-12":12,"HANG-CONNECT":1})"));
  CHECK(summary.at("advice_held_back") == 9);
  for (std::size_t i = 0; i < 12; ++i) {
    CHECK(lines[i].at("ev") == "wc.error");
    CHECK(lines[i].at("sev") == "error");
    CHECK(lines[i].at("cause") == "WC-12");
    CHECK(lines[i].at("msg") == (i == 10 ? "It ended with a dot." : "Saw it"));
    CHECK(lines[i].at("fix") == "Do this.");
    CHECK_FALSE(lines[i].contains("failure"));
  }
  CHECK(lines[12].at("cause") == "HANG-CONNECT");
  CHECK(lines[13].at("sev") == "info");
  CHECK(lines[13].at("cause") == "DEV-BOND");
  CHECK_FALSE(lines[14].contains("cause"));
}

TEST_CASE("the events of a failure have its number, and the summary lists it") {
  const TempDir dir;
  const CapturedAdvice told;
  start(log_to(dir / "log.jsonl"));
  const nnd::diagnosis::Diagnosis rail{Cause::kSubRail, "No way.", "Route."};
  const auto suspicion = nnd::state::begin_suspicion({7, "mlx5_1:1", "10.0.4.9"}, rail);
  Event(EventId::kPolicyWarn, Severity::kWarn).diagnose(rail, suspicion.number).emit();
  const auto unheeded = nnd::state::begin_suspicion({8, "mlx5_1:1", ""}, rail);
  Event(EventId::kPolicyWarn, Severity::kWarn).diagnose(rail, unheeded.number).emit();
  nnd::state::begin_failure({7, "mlx5_1:1", "10.0.4.9"}, rail, suspicion.number);
  Event(EventId::kQpTransition, Severity::kWarn).diagnose(rail, suspicion.number).emit();
  Event(EventId::kQpTransition).of_failure(rail.cause, suspicion.number).emit();
  Event(EventId::kConnFail, Severity::kError).diagnose(rail, suspicion.number).emit_to_log();
  stop();
  CHECK(told.lines().size() == 1);  // once, and the last goes there otherwise
  const auto lines = read_log(dir / "log.jsonl");
  REQUIRE(lines.size() == 6);
  CHECK(suspicion.number != unheeded.number);
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(lines[i].at("failure") == (i == 1 ? unheeded.number : suspicion.number));
    CHECK(lines[i].at("cause") == "SUB-RAIL");
  }
  const Json& summary = lines.back();
  CHECK(summary.at("failures_total") == 1);
  CHECK(summary.at("failures") == Json::array({{{"failure", suspicion.number},
                                                {"cause", "SUB-RAIL"},
                                                {"events", 4},
                                                {"conn", 7},
                                                {"device", "mlx5_1:1"},
                                                {"peer", "10.0.4.9"}}}));
  nnd::state::forget_failures();
}

TEST_CASE("advice: a filtered warning is still told") {
  const TempDir dir;
  const CapturedAdvice told;
  nnd::config::Settings settings = log_to(dir / "log.jsonl");
  settings.events = "summary";
  start(settings);
  bad_completion("mlx5_0", 1);
  stop();
  CHECK(told.lines().size() == 1);
  CHECK(read_log(dir / "log.jsonl").size() == 1);
}

TEST_CASE("advice: nccl_warn is at WARN, and without a logger nothing happens") {
  set_nccl_logger(nullptr);
  nccl_warn("nobody hears it");
  const CapturedAdvice told;
  nccl_warn(std::string_view("cut here and not there").substr(0, 8));
  REQUIRE(told.lines().size() == 1);
  CHECK(told.lines()[0] == "2/17 NET/DIAG cut here");
}
