#include "policy/judged.h"

#include <fstream>

#include "support/event_log.h"

namespace nnd::integration {

namespace {

softverbs::Scenario scenario_of(const std::string& text, const std::filesystem::path& dir) {
  const auto file = dir / "scenario.toml";  // the ranks read it too
  std::ofstream(file) << text;
  return softverbs::load_scenario(file);
}

}  // namespace

Judged::Judged(const std::string& scenario, const std::string& policy,
               const Environment& environment, const std::vector<std::string>& modes,
               const Surroundings& surroundings) {
  fabric_ = std::make_unique<emulated::Fabric>(scenario_of(scenario, scratch_.path()),
                                               scratch_.path() / "fabric");
  const auto file = scratch_.path() / "policy.toml";
  if (!policy.empty()) std::ofstream(file) << policy;
  // Nothing of the caller's own home.
  std::ofstream(scratch_.path() / ".nccl.conf") << surroundings.conf;
  std::vector<driver::RankOptions> options;
  for (const auto& mode : modes) {
    options.push_back(fabric_->rank(0, mode));
    auto& command = options.back().command;
    command.insert(command.begin(), surroundings.wrapper.begin(), surroundings.wrapper.end());
    auto& variables = options.back().environment;
    variables["HOME"] = scratch_.path();
    variables["NCCL_NET_DIAG_FILE"] = scratch_.path() / (mode + ".jsonl");
    if (mode != "file") variables["NCCL_NET_DIAG_MODE"] = mode;
    if (!policy.empty()) variables["NCCL_NET_DIAG_POLICY"] = file;
    for (const auto& [name, value] : environment) variables[name] = value;
  }
  job_ = std::make_unique<driver::Job>(std::move(options));
  judge(modes);
}

void Judged::judge(const std::vector<std::string>& modes) {
  job_->all(shim().request());
  const auto inits = job_->all({{"op", "init"}});
  const auto devices = job_->all({{"op", "devices"}});
  for (std::size_t i = 0; i < modes.size(); ++i) {
    JudgedRank& out = judged_.emplace_back();
    out.mode = modes[i];
    out.init_rc = inits[i]["rc"];
    out.devices_rc = devices[i]["rc"];
    for (int dev = 0; dev < devices[i]["count"].get<int>(); ++dev) {
      const auto reply = rank(i).run({{"op", "properties"}, {"dev", dev}});
      if (reply["rc"] != 0) continue;
      const auto& properties = reply["properties"];
      out.devices.insert(properties["name"].get<std::string>() + ":" +
                         std::to_string(properties["port"].get<int>()));
    }
  }
}

void Judged::end() {
  job_->all({{"op", "exit"}});
  for (std::size_t i = 0; i < judged_.size(); ++i) CHECK(rank(i).wait_exit() == 0);
}

std::vector<json> Judged::log(std::size_t index) const {
  return test::read_log(scratch_.path() / (judged_.at(index).mode + ".jsonl"));
}

std::vector<std::string> Judged::said(std::size_t index) const {
  std::vector<std::string> out;
  for (const auto& event : log(index)) {
    const std::string kind = event["ev"];
    const bool verdict = kind == "policy.warn" || kind == "policy.refuse" || kind == "env.lint";
    if (!verdict && event["sev"] == "info") continue;
    std::string text = kind + " " + event["sev"].get<std::string>();
    if (event.contains("rule")) text += " " + event["rule"].get<std::string>();
    text += " " + event.value("cause", "") + " ";
    text += event.contains("dev") ? event["dev"].value("name", "") : event.value("variable", "");
    out.push_back(text);
  }
  return out;
}

}  // namespace nnd::integration
