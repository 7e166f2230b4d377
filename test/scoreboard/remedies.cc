#include "scoreboard/remedies.h"

#include <set>

#include "support/advice.h"
#include "support/catch.h"

namespace nnd::scoreboard {

namespace {

using nlohmann::json;

struct Told {
  std::string what, fix, variable;
};

std::vector<Told> told(const Seen& seen) {
  std::vector<Told> out;
  for (const json& event : seen.events) {
    if (event["sev"] == "info" || event["ev"] == "summary") continue;
    const std::string device = event.value("dev", json::object()).value("name", "");
    out.push_back({event.value("cause", "") + " " + device, event.value("fix", ""),
                   event.value("variable", "")});
  }
  return out;
}

std::set<std::string> words(const std::vector<Told>& all) {
  std::set<std::string> out;
  for (const Told& one : all) out.insert(one.what);
  return out;
}

// The worlds that the advices of a job lead to, each with what it was for.
std::vector<std::pair<World, std::string>> followed_worlds(const World& world,
                                                           const std::vector<Told>& before) {
  std::vector<std::pair<World, std::string>> out;
  std::set<std::string> known;
  for (const Told& one : before) {
    const auto environment = nnd::test::followed(one.fix, one.variable, world.environment);
    if (!environment || !known.insert(one.what + json(*environment).dump()).second) continue;
    out.emplace_back(world, one.what).first.environment = *environment;
  }
  return out;
}

// What is still told of the job, and rightly.
bool tolerated(const World& world, const std::string& what) {
  for (const std::string& cause : world.tolerate)
    if (what.starts_with(cause + " ")) return true;
  return false;
}

}  // namespace

std::size_t check_remedies(const Entry& entry, const Seen& broken) {
  const auto before = told(broken);
  const auto worlds = followed_worlds(entry.faulty, before);
  for (const auto& [world, cause] : worlds) {
    INFO(cause << " with " << json(world.environment).dump());
    const Seen after = play(world, entry.policy, nullptr);
    INFO(after.trouble << after.nccl);
    CHECK(after.ok);
    for (const std::string& left : words(told(after))) {
      INFO("then: " << left);
      CHECK(left != cause);
      CHECK((words(before).contains(left) || tolerated(world, left)));
    }
  }
  return worlds.size();
}

}  // namespace nnd::scoreboard
