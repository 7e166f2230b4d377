// What reaches stderr.
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "fixture.h"
#include "support/catch.h"

using namespace nnd::record;
using namespace nnd::record::testing;
using nnd::config::Stderr;

namespace {

using nccl_net_diag::Cause;
using Severity = nccl_net_diag::Severity;

void tell(EventId id, Severity severity, Cause cause, const char* msg) {
  Event(id, severity).diagnose({cause, msg, "Do this."}).emit();
}

// The lines on the stderr of a process that tells three errors of one cause, a warning and a
// refusal; each without what is said before its severity and after its remedy.
std::vector<std::string> told(Stderr level, const char* nccl_debug) {
  const TempDir dir;
  const int status = in_child([&] {
    const int file = ::open((dir / "stderr").c_str(), O_WRONLY | O_CREAT, 0600);
    ::dup2(file, STDERR_FILENO);
    ::setenv("NCCL_DEBUG", nccl_debug, 1);
    nnd::config::Settings settings = log_to(dir / "log.jsonl");
    settings.on_stderr = level;
    start(settings);
    for (const char* msg : {"First.", "Second.", "Third."})
      tell(EventId::kWcError, Severity::kError, Cause::kWc12, msg);
    tell(EventId::kConnFail, Severity::kError, Cause::kSubRail,
         "Other.\nlibnccl: \x1b[2J\xc2\x9b.");
    tell(EventId::kPolicyWarn, Severity::kWarn, Cause::kDevBond, "Warned.");
    tell(EventId::kPolicyRefuse, Severity::kError, Cause::kDevMgmt, "Refused.");
    stop();
    return 0;
  });
  REQUIRE(ended_with(status, 0));
  std::vector<std::string> out;
  std::istringstream text(read_file(dir / "stderr"));
  for (std::string line; std::getline(text, line);) {
    INFO(line);
    REQUIRE(line.starts_with("libnccl-net-diag: "));
    REQUIRE(line.ends_with(" (event log " + (dir / "log.jsonl") + ")"));
    const auto pid = line.find(" pid ");
    const auto from = line.find(": ", pid) + 2;
    out.push_back(line.substr(from, line.rfind(" (event log") - from));
  }
  return out;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("stderr: where errors are wanted, warnings of what lasts come too, three an hour") {
  const TempDir dir;
  const int status = in_child([&] {
    const int file = ::open((dir / "stderr").c_str(), O_WRONLY | O_CREAT, 0600);
    ::dup2(file, STDERR_FILENO);
    ::setenv("NCCL_DEBUG", "WARN", 1);
    start(log_to(dir / "log.jsonl"));
    tell(EventId::kConnStall, Severity::kWarn, Cause::kHangData, "Passes.");
    for (const Cause cause : {Cause::kSubRail, Cause::kSubRail, Cause::kInitStuck,
                              Cause::kOobBlocked, Cause::kHangConnect})
      Event(EventId::kConnStall, Severity::kWarn)
          .diagnose({cause, "Lasts.", "Do this."})
          .lasts()
          .emit();
    Event(EventId::kConnStall).diagnose({Cause::kQp110, "Not known.", "Wait."}).lasts().emit();
    tell(EventId::kConnFail, Severity::kError, Cause::kWc12, "Failed.");
    stop();
    return 0;
  });
  REQUIRE(ended_with(status, 0));
  std::vector<std::string> causes;
  std::istringstream text(read_file(dir / "stderr"));
  for (std::string line; std::getline(text, line);) {
    causes.push_back(line.substr(line.find(": ", line.find(" pid ")) + 2));
  }
  REQUIRE(causes.size() == 4);
  CHECK(causes[0].starts_with("warn SUB-RAIL: Lasts."));
  CHECK(causes[1].starts_with("warn INIT-STUCK: Lasts."));
  CHECK(causes[2].starts_with("warn OOB-BLOCKED: Lasts."));
  CHECK(causes[3].starts_with("error WC-12: Failed."));
}

TEST_CASE("stderr: the first sentence of each cause") {
  const Lines errors = {"error WC-12: First. Do this.",
                        "error SUB-RAIL: Other.?libnccl: ?[2J??. Do this."};
  Lines all = errors;
  all.emplace_back("warn DEV-BOND: Warned. Do this.");
  CHECK(told(Stderr::kError, "WARN") == errors);
  CHECK(told(Stderr::kWarn, "VERSION") == all);
  CHECK(told(Stderr::kOff, "WARN").empty());
  CHECK(told(Stderr::kWarn, "info").empty());  // NCCL prints them
}
