#include <fmt/format.h>

#include <chrono>
#include <fstream>
#include <optional>
#include <thread>

#include "differential/run.h"
#include "driver/error.h"
#include "driver/fabric.h"
#include "driver/job.h"
#include "driver/nccl_cache.h"
#include "support/event_log.h"
#include "support/temp_dir.h"

namespace nnd::differential {

namespace {

using nlohmann::json;

constexpr auto kConnectPatience = std::chrono::seconds(5);

softverbs::Scenario scenario_of(const Node& node, const test::TempDir& dir) {
  return softverbs::load_scenario(dir.file("scenario.toml", node.toml()));
}

json properties_of(driver::RankProcess& rank, int count) {
  json out = json::array();
  for (int dev = 0; dev < count; ++dev) {
    const json reply = rank.run({{"op", "properties"}, {"dev", dev}});
    out.push_back(reply.at("rc") == 0 ? reply.at("properties") : json());
  }
  return out;
}

// From a device to itself: both ends are in one process, and each goes to RTR. Stops at the first
// end that fails: the other would wait.
json connect(driver::RankProcess& rank, int context, int device) {
  const json listening = rank.run({{"op", "listen"}, {"context", context}, {"dev", device}});
  if (listening.at("rc") != 0) return {{"listen", listening}};
  const int accept =
      rank.start({{"op", "accept"}, {"listener", listening.at("listener")}, {"context", context}});
  const int connecting = rank.start({{"op", "connect"},
                                     {"context", context},
                                     {"dev", device},
                                     {"handle", listening.at("handle")}});
  json out = json::object();
  const auto deadline = std::chrono::steady_clock::now() + kConnectPatience;
  while (std::chrono::steady_clock::now() < deadline) {
    for (const auto& [name, id] : {std::pair{"accept", accept}, std::pair{"connect", connecting}})
      if (!out.contains(name))
        if (const auto reply = rank.poll(id)) out[name] = reply->at("rc");
    if (out.size() == 2) break;
    if (out.size() == 1 && out.begin().value() != 0) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return out;
}

// The first moves of the sender's and of the receiver's first QP.
json moves_of(const std::vector<json>& events) {
  json out = json::object();
  for (const json& event : events) {
    if (event["ev"] != "qp.transition" || !event.contains("dir")) continue;
    json& end = out[event["dir"].get<std::string>()];
    if (event.value("errno", 0) != 0) end["failed"] = true;
    json& place = end[event["qp"]["to"].get<std::string>()];
    if (place.is_null())
      place = {{"qp", event["qp"]}, {"dev", event["dev"]}, {"errno", event.value("errno", 0)}};
  }
  return out;
}

}  // namespace

json observe(const Node& node, const std::string& nccl, unsigned device) {
  const test::TempDir dir;
  emulated::Fabric fabric(scenario_of(node, dir), dir.path() / "fabric");
  const auto log = dir.path() / "log.jsonl";
  driver::RankOptions options = fabric.rank(0, "0");
  for (const auto& [name, value] : node.environment) options.environment[name] = value;
  options.environment["NCCL_NET_DIAG_FILE"] = log;
  options.environment["NCCL_NET_DIAG_EVENTS"] = test::kEveryStep;
  options.environment["NCCL_NET_DIAG_MODE"] = "observe";
  options.environment["NCCL_NET_DIAG_STDERR"] = "off";
  options.environment["NCCL_IB_MQP_RETRY_CNT"] = "0";
  json out = {{"init", "works"}, {"devices", json::array()}, {"connection", json::object()}};
  driver::RankProcess rank("the rank", options);
  rank.run(driver::Transport{driver::cached_nccl(nccl).value(), "diag", ""}.request());
  try {
    const json init = rank.run({{"op", "init"}});
    const json devices = init.at("rc") == 0 ? rank.run({{"op", "devices"}}) : init;
    if (devices.at("rc") != 0) {
      out["init"] = "fails";
    } else {
      const int count = devices.at("count");
      out["devices"] = properties_of(rank, count);
      if (count > 0) {
        out["device"] = device % static_cast<unsigned>(count);
        out["connection"] = connect(rank, init.at("context"), out["device"]);
      }
    }
    rank.run({{"op", "exit"}});
    rank.wait_exit();
  } catch (const driver::Error& error) {
    if (!out.contains("device")) out["init"] = "crashes";
    out["connection"] = {{"crashed", error.what()}};
    out["moves"] = json::object();
    return out;
  }
  out["moves"] = moves_of(test::read_log(log));
  return out;
}

}  // namespace nnd::differential
