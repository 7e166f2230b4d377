#include "foreign/ras_status.h"

#include <fmt/format.h>

#include "support/catch.h"

using namespace nnd::foreign;

namespace {

std::string rank(int number, int all_reduces, int error = 0) {
  return fmt::format(
      R"({{"rank": {}, "host": "10.0.0.{}", "pid": 4{}, "cuda_dev": 0, "nvml_dev": 0, "status": )"
      R"({{"init_state": 0, "async_error": {}, "finalize_called": false, "destroy_flag": false, )"
      R"("abort_flag": false}}, "collective_counts": {{"Broadcast": 1, "AllReduce": {}}}}})",
      number, number + 1, number, error, all_reduces);
}

std::string missing(int number, bool dead) {
  return fmt::format(
      R"({{"rank": {}, "host": "10.0.0.9", "pid": 9, "status": {{"unresponsive": true, "considered_dead": {}}}}})",
      number, dead);
}

std::string answer(const std::string& time, const std::string& ranks,
                   const std::string& missing = "") {
  return fmt::format(
      R"({{"nccl_version": "2.28.9", "cuda_runtime_version": 13000, "timestamp": "{}", )"
      R"("communicators_count": 1, "communicators": [{{"hash": "0x1f", "size": 4, "ranks": [{}], )"
      R"("missing_ranks": [{}]}}], "ras": {{"collection_time_sec": 0.001, "timeouts_count": 0}}}})",
      time, ranks, missing);
}

RasStatus read(const std::string& text) {
  CHECK(may_be_ras_status(text));
  auto out = read_ras_status("ras.json", text);
  REQUIRE(out);
  return *out;
}

const std::string kThree = rank(0, 7) + "," + rank(1, 7) + "," + rank(2, 7);

}  // namespace

TEST_CASE("an answer of RAS", "[ras]") {
  auto text = answer("2026-11-26 11:17:07", kThree, missing(3, true));
  SECTION("as it came") { text = "OK\n" + text; }
  SECTION("alone") {}
  // As 2.28.9 writes it.
  SECTION("without a comma before a missing rank's status") {
    const auto comma = text.rfind(", \"status\"");
    text.replace(comma, 1, "\n   ");
  }
  const auto status = read(text);
  CHECK(status.nccl == "2.28.9");
  CHECK(status.at_sec == 1795691827);
  REQUIRE(status.communicators.size() == 1);
  const auto& of = status.communicators[0];
  CHECK(of.hash == "0x1f");
  CHECK(of.size == 4);
  REQUIRE(of.ranks.size() == 3);
  CHECK(of.ranks[1].host == "10.0.0.2");
  CHECK(of.ranks[1].pid == 41);
  CHECK(of.ranks[1].begun.at("AllReduce") == 7);
  REQUIRE(of.missing.size() == 1);
  CHECK(of.missing[0].dead);
}

TEST_CASE("what is no answer of RAS", "[ras]") {
  CHECK_FALSE(may_be_ras_status("{}"));
  CHECK_FALSE(may_be_ras_status("ERROR\n{\"communicators_count\": 1}"));
  CHECK_FALSE(read_ras_status("x", "{\"communicators_count\": 1}"));
  CHECK_FALSE(read_ras_status("x", "{\"communicators_count\": 1, \"communicators\": ["));
  const auto odd = read_ras_status(
      "x", R"({"timestamp": "soon", "communicators": [1, {"size": 99999999999, "ranks": {}}]})");
  REQUIRE(odd);
  CHECK(odd->at_sec == 0);
  REQUIRE(odd->communicators.size() == 1);
  CHECK(odd->communicators[0].size == 0);
}
