// Jobs whose libnccl is unusual: stripped, or two of them in one process.
#include <algorithm>
#include <string>

#include "job/fabric.h"
#include "support/catch.h"

using namespace softcuda;
using nnd::test::FabricJob;
using nnd::test::failures;
using Kind = Action::Kind;

TEST_CASE("a stripped library is carried as the official one is", "[stripped]") {
  FabricJob job(1);
  job.strip_nccl();
  nnd::test::add_all_collectives(job.spec, {100008});
  CHECK(failures(job.run()) == "");
  job.check_carried();
}

TEST_CASE("softcuda refuses what it has no symbols for", "[stripped]") {
  FabricJob job(1);
  job.strip_nccl();
  job.spec.nccl_symbols.clear();
  job.spec.actions = {{.kind = Kind::kCreate}};
  const auto refusal = [&job] {
    const JobResult result = job.run();
    CHECK_FALSE(result.ok());
    return result.ranks.at(0).error;
  };
  CHECK(refusal().find("has no symbol table (.symtab)") != std::string::npos);
  job.spec.nccl_symbols = nnd::test::other_nccl_library();
  CHECK(refusal().find("is not the same build as") != std::string::npos);
}

namespace {

using nlohmann::json;

// The communicators of a job whose second library is the other one, if it has any of it.
std::vector<Action> two_lives(bool other) {
  std::vector<Action> actions = {
      {.kind = Kind::kCreate, .comm = 0},
      {.kind = Kind::kCollective, .comm = 0, .bytes = 100008},
  };
  if (other)
    actions.insert(actions.end(), {{.kind = Kind::kCreate, .comm = 1, .other_nccl = true},
                                   {.kind = Kind::kCollective, .comm = 1, .bytes = 100008},
                                   {.kind = Kind::kCollective, .comm = 0, .bytes = 100008},
                                   {.kind = Kind::kDestroy, .comm = 1}});
  actions.push_back({.kind = Kind::kDestroy, .comm = 0});
  return actions;
}

bool is_second(const json& event) {
  return event.value("msg", "").find("this is the second NCCL in the process (") !=
         std::string::npos;
}

}  // namespace

// The net API's calls without a context can't tell them apart, so the second isn't wrapped.
TEST_CASE("two versions of NCCL in one process: the first is carried, the second runs",
          "[two-nccls]") {
  for (const bool second : {true, false}) {
    INFO((second ? "a communicator of each" : "the other is loaded and not used"));
    FabricJob job(1);
    job.spec.other_nccl = nnd::test::other_nccl_library();
    job.spec.actions = two_lives(second);
    CHECK(failures(job.run()) == "");
    job.check_carried();
    for (int rank = 0; rank < 2; ++rank) {
      const auto loads = job.events(rank, "plugin.load");
      REQUIRE(loads.size() == (second ? 2 : 1));
      const json& first = loads[0];
      CHECK(first.at("sev") == "info");
      const bool profiler = nnd::test::nccl_version() >= 22803;
      CHECK(first.at("layers") ==
            (profiler ? json({"net", "verbs", "profiler"}) : json({"net", "verbs"})));
      CHECK(first.at("inner").at("module") == job.spec.nccl);
      if (!second) continue;
      const json& told = loads[1];
      CHECK(told.at("sev") == "warn");
      CHECK(told.at("cause") == "DEV-PLUGIN");
      CHECK(is_second(told));
      CHECK(told.at("nccl_version") == nnd::test::other_nccl_version());
      CHECK(told.at("nccl_version") != first.at("nccl_version"));
      CHECK(told.at("layers") == json({"verbs"}));
      CHECK_FALSE(told.contains("inner"));
    }
  }
}
