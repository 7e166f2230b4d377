#include "foreign/flight_dump.h"
#include "foreign/pickle.h"
#include "support/catch.h"

using namespace nnd::foreign;

namespace {

const std::string kDump =
    R"({"entries": [{"collective_seq_id": 4, "is_p2p": false, "input_dtypes": ["Float"], "input_sizes": [[8, 4]], )"
    R"("process_group": ["0", "default_pg"], "profiling_name": "nccl:all_reduce", "state": "completed", "time_created_ns": 7}, )"
    R"({"collective_seq_id": 5, "is_p2p": false, "input_dtypes": ["Float"], "input_sizes": [[8, 4]], )"
    R"("process_group": ["0", "default_pg"], "profiling_name": "nccl:all_reduce", "state": "scheduled", "time_created_ns": 9}], )"
    R"("pg_config": {"0": {"desc": "default_pg", "name": "0", "ranks": "[0, 1]"}}, )"
    R"("pg_status": {"0": {"last_completed_collective": "4"}}, "version": "2.10"})";

}  // namespace

TEST_CASE("a dump as JSON is as one that is a pickle", "[flight-json]") {
  CHECK(may_be_flight_json(kDump));
  const auto dump = read_flight_json("/x/trace_rank_3.json", kDump);
  REQUIRE(dump);
  CHECK(dump->rank == 3);
  CHECK(dump->version == "2.10");
  CHECK(dump->first_ns == 7);
  CHECK(dump->last_ns == 9);
  REQUIRE(dump->groups.size() == 1);
  const auto& group = dump->groups[0];
  CHECK(group.ranks == std::vector{0, 1});
  CHECK(group.description == "default_pg");
  CHECK(group.last.seq == 5);
  REQUIRE(group.unfinished.size() == 1);
  CHECK(group.unfinished[0].what == "all_reduce");
  CHECK(group.unfinished[0].sizes == "[8, 4] Float");
}

TEST_CASE("a rank that called nothing leaves no entries", "[flight-json]") {
  const auto dump = read_flight_json(
      "rank_0",
      R"({"pg_config": {"0": {"desc": "d", "name": "0", "ranks": "[0]"}}, "version": "2.10"})");
  REQUIRE(dump);
  CHECK(dump->groups[0].last.seq == 0);
}

TEST_CASE("other JSON, and JSON that breaks off or was made to harm", "[flight-json]") {
  CHECK_FALSE(read_flight_json("rank_0", R"({"version": "2.10"})"));
  CHECK_FALSE(read_flight_json("rank_0", R"({"entries": []})"));
  CHECK_FALSE(read_flight_json("rank_0", R"({"entries": 5, "version": "2.10"})"));
  CHECK(read_flight_json("rank_0", R"({"entries": [5, {}, []], "version": "2.10"})"));
  CHECK_FALSE(may_be_flight_json(R"({"a": 1})"));
  for (std::size_t length = 0; length < kDump.size(); ++length)
    CHECK_THROWS_AS(read_flight_json("rank_0", kDump.substr(0, length)), PickleError);
  CHECK_THROWS_AS(read_flight_json("rank_0", std::string(100, '[') + std::string(100, ']')),
                  PickleError);
}
