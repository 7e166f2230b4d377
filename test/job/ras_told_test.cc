// What `report --follow` and `top` print of NCCL's RAS while a real job hangs.
#include <fmt/format.h>

#include <memory>

#include "cli/tool.h"
#include "job/reported.h"
#include "scoreboard/ras.h"
#include "support/catch.h"

using namespace softcuda;
using nnd::cli_test::Tool;
using What = Action::Kind;

namespace {

constexpr const char* kTwoNodes = R"(
[[host]]
count = 2
name = "node{h}"
[[host.hca]]
name = "mlx5_0"
netdev = "eth0"
address = "10.1.0.{h+1}/16"
[[host.gpu]]
count = 2
)";

// The first line with these words.
std::string line_of(const std::string& text, const std::string& words) {
  const auto at = text.find(words);
  if (at == std::string::npos) return {};
  const auto begin = text.rfind('\n', at);
  return text.substr(begin == std::string::npos ? 0 : begin + 1,
                     text.find('\n', at) - (begin == std::string::npos ? 0 : begin + 1));
}

}  // namespace

TEST_CASE("what RAS says of a job that hangs, in report --follow and in top", "[ras-told]") {
  nnd::test::ReportedJob job(kTwoNodes, 2);
  const auto address = fmt::format("{}:{}", nnd::scoreboard::ras_host(), nnd::scoreboard::kRasPort);
  job.spec().environment["NCCL_RAS_ADDR"] = address;
  job.spec().environment["NCCL_RAS_ENABLE"] = "1";
  job.spec().deadline_sec = 180;
  // Rank 2 has called one collective more than the others ever will.
  job.spec().actions = {{.kind = What::kCreate},
                        {.kind = What::kCollective, .bytes = 4000000, .iterations = 3},
                        {.kind = What::kCollective, .bytes = 4000000, .only_rank = 2},
                        {.kind = What::kMeet}};
  std::unique_ptr<Tool> report, top;
  std::string by_report, by_top;
  const auto start = [&] {
    const nnd::cli_test::Variables variables{{"NCCL_RAS_ADDR", address}, {"COLUMNS", "1000"}};
    report = std::make_unique<Tool>(std::vector<std::string>{"report", "--follow", "--color",
                                                             "never", job.job().dir().string()},
                                    variables);
    std::vector<std::string> arguments{"top", "--color", "never", "--interval",
                                       "1",   "--count", "1000"};
    for (int rank = 0; rank < job.spec().ranks(); ++rank) {
      arguments.push_back("--pid");
      arguments.push_back(std::to_string(job.pid_of(rank)));
    }
    top = std::make_unique<Tool>(arguments, variables);
  };
  job.job().run([&] {
    if (report == nullptr) {
      for (int rank = 0; rank < job.spec().ranks(); ++rank)
        if (job.pid_of(rank) == 0 || job.job().events(rank, "conn.ready").empty()) return false;
      start();
      return false;
    }
    if (by_report.empty()) by_report = line_of(report->said(), "NCCL's RAS: ");
    if (by_top.empty()) by_top = line_of(top->said(), "NCCL's RAS: ");
    return !by_report.empty() && !by_top.empty();
  });
  INFO("report --follow: " << by_report << "\ntop: " << by_top);
  for (const auto& said : {by_report, by_top}) {
    const auto at = said.find("NCCL's RAS: rank 2 (");
    REQUIRE(at != std::string::npos);
    CHECK(said.find(fmt::format(", pid {}) has begun 4 AllReduce, 3 other ranks 3, unchanged for ",
                                job.pid_of(2)),
                    at) != std::string::npos);
    CHECK(said.find(" of 4 ranks, at ", at) != std::string::npos);
  }
  // A verdict stands before it.
  REQUIRE(report != nullptr);
  CHECK(report->said().find('\n') < report->said().find("NCCL's RAS: "));
  report->interrupt();
  CHECK(report->wait().exit_code == 1);
}
