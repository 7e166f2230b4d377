// A node where another net plugin is installed: the job runs with the transport, the tuner and the
// CollNet that it would have without us, and what runs is wrapped.
#include <fmt/format.h>

#include <map>
#include <regex>
#include <string>

#include "job/fabric.h"
#include "job/on_off.h"
#include "support/catch.h"

using namespace softcuda;
using nlohmann::json;
using nnd::test::FabricJob;
using nnd::test::failures;

namespace {

using Environment = std::map<std::string, std::string>;

struct Beside {
  explicit Beside(const Environment& more, bool with_us) : job(1) {
    job.spec.library_path.emplace_back(NND_OTHER_PLUGIN_DIR);
    job.spec.environment["NCCL_IB_GID_INDEX"] = "3";  // 2.18 and 2.19 pick none by themselves
    if (!with_us) job.spec.environment.erase("NCCL_NET_PLUGIN");
    for (const auto& [name, value] : more) job.spec.environment[name] = value;
    nnd::test::add_all_collectives(job.spec, {100008});
    result = job.run();
  }

  // NCCL before 2.28.7 also calls the inits of a plugin that NCCL_NET keeps out (src/net.cc), and
  // nothing else of it.
  static bool unused(const std::string& line) {
    return line == "OTHER init" || line == "OTHER CollNet init";
  }
  // What a rank says of what it uses.
  std::string uses(std::size_t rank, bool plugin) const {
    static const std::regex telling("OTHER |Using network|Using (external )?tuner|.* via NET/.*");
    std::string out;
    for (const auto& [line, count] :
         nnd::test::comparable_lines(result.ranks.at(rank).output, job.dir()))
      if (std::regex_search(line, telling) && (plugin || !unused(line)))
        out += fmt::format("{} ({})\n", line, count);
    return out;
  }

  FabricJob job;
  JobResult result;
};

}  // namespace

TEST_CASE("beside another net plugin a job uses what it uses without us", "[beside]") {
  struct Case {
    Environment environment;
    std::string
        transport;  // that runs, and is wrapped; empty: the plugin stays out, as it is asked
  };
  for (const Case& one : {Case{{}, "Other"}, Case{{{"NCCL_NET", "other"}}, "Other"},
                          Case{{{"NCCL_NET", "IB"}}, "IB"}, Case{{{"NCCL_NET", "Socket"}}, ""}}) {
    INFO("NCCL_NET " << (one.environment.empty() ? "unset" : one.environment.at("NCCL_NET")));
    const Beside without(one.environment, false), with(one.environment, true);
    REQUIRE(failures(without.result) == "");
    REQUIRE(failures(with.result) == "");
    for (int rank = 0; rank < 2; ++rank) {
      INFO("rank " << rank);
      const bool plugin = one.transport == "Other";
      const auto uses = with.uses(static_cast<std::size_t>(rank), true);
      CHECK(uses == without.uses(static_cast<std::size_t>(rank), plugin));
      CHECK((uses.find("OTHER init (") != uses.npos) == plugin);
      CHECK((uses.find("OTHER CollNet init (") != uses.npos) == plugin);
      CHECK((uses.find("Using network ") != uses.npos));
      if (one.transport.empty()) continue;
      const auto loads = with.job.events(rank, "plugin.load");
      REQUIRE(loads.size() == 1);
      CHECK(loads[0]["inner"]["name"] == one.transport);
      CHECK_FALSE(with.job.events(rank, "conn.ready").empty());
      for (const json& event : with.job.events(rank)) {
        INFO(event.dump());
        CHECK(event["sev"] == "info");
      }
    }
  }
}

TEST_CASE("in enforce a plugin whose HCAs are not seen is refused, and said", "[beside]") {
  const Beside refused({{"NCCL_NET_DIAG_MODE", "enforce"}}, true);
  CHECK_FALSE(refused.result.ok());
  const auto told = refused.job.events(0, "policy.refuse");
  REQUIRE(told.size() == 1);
  CHECK(told[0]["cause"] == "POLICY");
  CHECK(told[0]["msg"].get<std::string>().find("takes its HCAs past this library") !=
        std::string::npos);
  // What the remedy says.
  const Beside built_in({{"NCCL_NET_DIAG_MODE", "enforce"}, {"NCCL_NET_DIAG_INNER", "IB"}}, true);
  CHECK(failures(built_in.result) == "");
  built_in.job.check_carried();
}
