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

TEST_CASE("advice: one line of NCCL's logger per cause and device, the rest is counted") {
  const TempDir dir;
  const CapturedAdvice told;
  start(log_to(dir / "log.jsonl"));
  for (int i = 0; i < 10; ++i) bad_completion("mlx5_0", 1);
  bad_completion("mlx5_1", 1, "It ended with a dot.");
  bad_completion("mlx5_1", 2);
  Event(EventId::kConnFail, Severity::kWarn)
      .diagnose({Cause::kHangConnect, "100% stuck %s", ""})
      .emit();
  Event(EventId::kConnOpen).diagnose({Cause::kDevBond, "an info is no advice", ""}).emit();
  Event(EventId::kConnFail, Severity::kWarn).emit();
  stop();
  REQUIRE(told.lines().size() == 4);
  CHECK(told.lines()[0] == "3/17 NET/DIAG WC-12: Saw it. Do this.");
  CHECK(told.lines()[1] == "3/17 NET/DIAG WC-12: It ended with a dot. Do this.");
  CHECK(told.lines()[3] == "3/17 NET/DIAG HANG-CONNECT: 100% stuck %s");
  const auto lines = read_log(dir / "log.jsonl");
  const Json& summary = lines.back();
  CHECK(summary["causes"] == Json::parse(R"({"WC-12":12,"HANG-CONNECT":1})"));
  CHECK(summary["advice_held_back"] == 9);
  CHECK(lines[0]["cause"] == "WC-12");
  CHECK(lines[0]["msg"] == "Saw it");
  CHECK(lines[0]["fix"] == "Do this.");
  CHECK_FALSE(lines[0].contains("failure"));
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
  for (const int i : {0, 2, 3, 4}) {
    const Json& line = lines[static_cast<std::size_t>(i)];
    CHECK(line["failure"] == suspicion.number);
    CHECK(line["cause"] == "SUB-RAIL");
  }
  const Json& summary = lines.back();
  REQUIRE(summary["failures"].size() == 1);
  CHECK(summary["failures_total"] == 1);
  const Json& listed = summary["failures"][0];
  CHECK(listed["failure"] == suspicion.number);
  CHECK(listed["cause"] == "SUB-RAIL");
  CHECK(listed["events"] == 4);
  CHECK(listed["conn"] == 7);
  CHECK(listed["device"] == "mlx5_1:1");
  CHECK(listed["peer"] == "10.0.4.9");
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
