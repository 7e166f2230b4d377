#include <string>
#include <vector>

#include "fixture.h"
#include "support/catch.h"

using namespace nnd::record;
using namespace nnd::record::testing;

namespace {

void bad_completion(const char* device, int port, const char* msg = "Saw it") {
  Event(EventId::kWcError, Severity::kError)
      .object("dev")
      .add("name", device)
      .add("port", port)
      .end()
      .object("qp")
      .add("name", "no subject")
      .end()
      .blame("WC-12", msg, "Do this.")
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
  Event(EventId::kConnStall, Severity::kWarn).blame("HANG-DATA", "100% stuck %s", "").emit();
  Event(EventId::kConnOpen).blame("INFO-1", "an info is no advice", "").emit();
  Event(EventId::kConnStall, Severity::kWarn).emit();
  stop();
  REQUIRE(told.lines().size() == 4);
  CHECK(told.lines()[0] == "3/17 NET/DIAG WC-12: Saw it. Do this.");
  CHECK(told.lines()[1] == "3/17 NET/DIAG WC-12: It ended with a dot. Do this.");
  CHECK(told.lines()[3] == "3/17 NET/DIAG HANG-DATA: 100% stuck %s");
  const auto lines = read_log(dir / "log.jsonl");
  const Json& summary = lines.back();
  CHECK(summary["causes"] == Json::parse(R"({"WC-12":12,"HANG-DATA":1})"));
  CHECK(summary["advice_held_back"] == 9);
  CHECK(lines[0]["cause"] == "WC-12");
  CHECK(lines[0]["msg"] == "Saw it");
  CHECK(lines[0]["fix"] == "Do this.");
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
