#include "cli/preflight/short_job.h"

#include "support/catch.h"

using namespace nnd::cli;

namespace {

PlayedTask done(const std::string& host) {
  RankReport rank;
  rank.host = host;
  rank.done = true;
  rank.nccl = 22809;
  rank.network = "IB";
  TaskReport part;
  part.ranks.push_back(rank);
  return {host, part, "", ""};
}

PlayedTask failed(const std::string& host, const std::string& why) {
  auto out = done(host);
  out.part->ranks.front().done = false;
  out.part->failures.push_back(why);
  return out;
}

ShortJob job(std::vector<PlayedTask> tasks) { return {std::move(tasks), 60}; }

}  // namespace

TEST_CASE("a short job in which every byte was right says nothing", "[short-job]") {
  const auto result = result_of(job({done("node1"), done("node2")}));
  CHECK_FALSE(result.finding);
  CHECK(result.problem.empty());
}

TEST_CASE("why a short job failed is what its HCAs met", "[short-job]") {
  auto bad = failed("node2", "rank 1: ncclCommInitRank: unhandled system error");
  Trouble trouble;
  trouble.host = "node2";
  trouble.diagnosis.severity = nnd::log::Severity::kError;
  trouble.diagnosis.cause = "QP-110";
  trouble.diagnosis.dev.name = "mlx5_1";
  trouble.diagnosis.msg = "QP 30 could not go from INIT to RTR.";
  trouble.diagnosis.fix = "See the switch.";
  bad.part->troubles.push_back(trouble);
  auto one = job({failed("node1", "rank 0: ncclAllReduce: remote error"), bad});
  const auto result = result_of(one);
  REQUIRE(result.finding);
  CHECK(result.finding->weight == Weight::kMend);
  CHECK(result.finding->hosts == std::vector<std::string>{"node2"});
  CHECK(result.finding->device == "mlx5_1");
  CHECK(result.finding->cause == "QP-110");
  CHECK(result.finding->text ==
        "A job of 2 ranks failed; node2 says: QP 30 could not go from INIT to RTR.");
  one.late = true;
  CHECK(result_of(one).finding->text.starts_with("A job of 2 ranks was not over after 60 s; "));
}

TEST_CASE("wrong data is told by the host where it came", "[short-job]") {
  const auto result =
      result_of(job({done("node1"), failed("node2", "rank 1: element 3 is 7 and not 8")}));
  REQUIRE(result.finding);
  CHECK(result.finding->weight == Weight::kMend);
  CHECK(result.finding->hosts == std::vector<std::string>{"node2"});
  CHECK(result.finding->text ==
        "A job of 2 ranks failed; node2 says: rank 1: element 3 is 7 and not 8.");
}

TEST_CASE("what softcuda can't play accuses nobody", "[short-job]") {
  auto bad = failed("node1", "rank 0: libnccl.so.2 has no symbol table");
  bad.part->ranks.front().played = false;
  auto result = result_of(job({bad, failed("node2", "rank 1: not done after 60 s")}));
  REQUIRE(result.finding);
  CHECK(result.finding->weight == Weight::kNote);
  CHECK(result.finding->hosts.empty());
  CHECK(result.finding->text ==
        "No short job was run; node1 says: rank 0: libnccl.so.2 has no symbol table.");
  result = result_of(job({done("node1"), {"node2", {}, "set NCCL_NVLS_ENABLE=0", ""}}));
  REQUIRE(result.finding);
  CHECK(result.finding->weight == Weight::kNote);
}

TEST_CASE("a short job that is not over, or that a host left, is not examined", "[short-job]") {
  auto late = job({done("node1"), {"node2", {}, "", ""}});
  late.late = true;
  CHECK_FALSE(result_of(late).finding);
  CHECK(result_of(late).problem == "The job of 2 ranks was not over after 60 s on node2.");
  const auto left =
      result_of(job({failed("node1", "rank 0: remote error"), {"node2", {}, "", "closed"}}));
  CHECK_FALSE(left.finding);
  CHECK(left.problem == "node2 left the short job: closed.");
  auto interrupted = late;
  interrupted.interrupted = true;
  CHECK(result_of(interrupted).problem == "interrupted.");
}

TEST_CASE("a job that leaves the HCAs alone is none that should start", "[short-job]") {
  auto task = done("node2");
  task.part->ranks.front().network = "Socket";
  const auto result = result_of(job({done("node1"), task}));
  REQUIRE(result.finding);
  CHECK(result.finding->weight == Weight::kMend);
  CHECK(result.finding->hosts == std::vector<std::string>{"node2"});
}

TEST_CASE("of many hosts some play, spread out", "[short-job]") {
  CHECK(players_of(0).empty());
  CHECK(players_of(3) == std::vector<std::size_t>{0, 1, 2});
  const auto some = players_of(64);
  REQUIRE(some.size() == 16);
  CHECK(some[1] == 4);
  CHECK(some[15] == 60);
  CHECK(players_of(17).back() == 15);
}
