// What is advised helps: every remedy that is a variable to set or to unset is applied to the node
// that it was printed for, and then nothing of it is told any more, nor anything new.
#include <algorithm>

#include "policy/judged.h"
#include "policy/troubles.h"
#include "support/advice.h"

using namespace nnd;
using namespace nnd::integration;
using nnd::test::followed;

namespace {

struct Told {
  std::string what, fix, variable;  // as said() has it
};

// What the shim says of the node in warn mode.
std::vector<Told> told(const BrokenNode& node, const Environment& environment, bool& usable) {
  Judged judged(node.scenario, node.policy, environment, {"warn"}, node.surroundings);
  usable = !judged.ranks()[0].devices.empty();
  judged.end();
  std::vector<Told> out;
  for (const auto& event : judged.log(0)) {
    const std::string kind = event["ev"];
    if (event["sev"] == "info") continue;
    out.push_back(
        {kind + " " + event.value("rule", "") + " " + event.value("cause", "") + " " +
             (event.contains("dev") ? event["dev"].value("name", "") : event.value("variable", "")),
         event.value("fix", ""), event.value("variable", "")});
  }
  return out;
}

}  // namespace

TEST_CASE("an advice that is a variable is one that helps", "[remedies]") {
  std::set<std::string> for_people;
  std::size_t applied = 0;
  for (const auto& node : broken_nodes()) {
    INFO(node.verdict << " " << node.lint << "\n" << node.scenario << node.policy);
    bool usable = false;
    const auto before = told(node, node.environment, usable);
    REQUIRE_FALSE(before.empty());
    for (const auto& one : before) {
      const auto environment = followed(one.fix, one.variable, node.environment);
      if (!environment) {
        for_people.insert(one.what.substr(0, one.what.rfind(' ')));
        continue;
      }
      INFO(one.what << ": " << one.fix);
      ++applied;
      const auto after = told(node, *environment, usable);
      CHECK(usable);
      for (const auto& left : after) {
        INFO("then: " << left.what << ": " << left.fix);
        CHECK(left.what != one.what);
        CHECK(std::any_of(before.begin(), before.end(),
                          [&](const Told& old) { return old.what == left.what; }));
      }
    }
  }
  CHECK(applied > 10);
  // What no variable of the job can mend: a person has to look, and the advice says where.
  const std::set<std::string> people{
      "env.lint  DEV-OOB",
      "env.lint  DEV-PREFIX",
      "env.lint  ENV-OVERRIDE",
      "policy.warn fallback.socket DEV-FALLBACK",
      "policy.warn gdr.missing GDR-NOMOD",
      "policy.warn gdr.require GDR-NOMOD",
      "policy.warn hca.lid IB-NOSM",
      "policy.warn hca.min_count INC-NDEVS",
      "policy.warn hca.mtu MTU-DIFF",
      "policy.warn hca.pkey PKEY",
      "policy.warn limits.memlock LIM-MEMLOCK",
      "policy.warn limits.nofile LIM-NOFILE",
      "policy.warn roce.empty_gid GID-CONT",
      "policy.warn roce.link_local GID-LINKLOCAL",
      "policy.warn roce.link_local GID-WRONG",
      "policy.warn roce.v1 GID-V1",
      "policy.warn roce.v1 GID-WRONG",
  };
  CHECK(for_people == people);
}
