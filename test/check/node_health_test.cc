// The files of examples/node-health, called as the programs that they are for call them.
#include <fstream>
#include <iterator>
#include <string>

#include "run_tool.h"
#include "support/catch.h"

using namespace nnd::check_test;
using nlohmann::json;

namespace {

const std::string kHealth = NND_EXAMPLES "/node-health/";

std::string content(const std::string& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

// A program in this directory.
std::string program(const Scratch& scratch, const std::string& name, const std::string& script) {
  const std::string out = scratch.file(name, "#!/bin/sh\n" + script);
  std::filesystem::permissions(out, std::filesystem::perms::owner_all);
  return out;
}

// The tool on a node of examples/fleets.
struct Node {
  explicit Node(const std::string& name)
      : tool(program(
            scratch, "tool",
            "exec " NND_TOOL " \"$@\" --scenario " NND_EXAMPLES "/fleets/" + name + ".toml\n")) {}
  Outcome check(Environment more = {}) const {
    more["NND_TOOL"] = tool;
    return run_script(kHealth + "check-hcas.sh", more);
  }
  Scratch scratch;
  std::string tool;
};

// The lines of a YAML block, without their indent.
std::string block(const std::string& yaml, const std::string& head) {
  const auto begin = yaml.find('\n', yaml.find(head)) + 1;
  const auto indent = yaml.find_first_not_of(' ', begin) - begin;
  std::string out;
  for (auto at = begin; at < yaml.size(); at = yaml.find('\n', at) + 1)
    out += yaml.substr(at + indent, yaml.find('\n', at) + 1 - at - indent);
  return out;
}

// Slurm's two commands: sinfo says what the file "node" has, scontrol's calls are kept in "calls".
struct Slurm {
  explicit Slurm(const std::string& node) {
    program(scratch, "sinfo", "cat '" + scratch / "node" + "'\n");
    program(scratch, "scontrol", "printf '%s\\n' \"$*\" >>'" + scratch / "calls" + "'\n");
    scratch.file("node", node + "\n");
  }
  std::string health(const Node& node) const {
    const Outcome out = run_script(kHealth + "slurm-health.sh",
                                   {{"NND_TOOL", node.tool},
                                    {"SLURMD_NODENAME", "n7"},
                                    {"PATH", scratch.path().string() + ":/usr/bin:/bin"}});
    CHECK(out.exit_code == 0);
    return content(scratch / "calls");
  }
  Scratch scratch;
};

}  // namespace

TEST_CASE("node health: sick is what is wrong with the node's own hardware") {
  for (const char* sick : {"rail-down", "rail-half-speed", "rail-narrow-slot", "rail-trained-low",
                           "gpu-node-without-rdma-core"}) {
    INFO(sick);
    CHECK(Node(sick).check().exit_code == 1);
  }
  // Warnings about a set-up, a node that needs no HCA, a lost GPU.
  for (const char* well : {"dgx-h100", "gb200-nvl72", "storage-faster", "ipv6-only", "login-node",
                           "laptop", "gpu-lost"}) {
    INFO(well);
    CHECK(Node(well).check().exit_code == 0);
  }
  const Node down("rail-down");
  const Outcome told = down.check();
  CHECK(told.out.starts_with("DEV-DOWN: mlx5_4:1 is DOWN"));
  CHECK(told.out.find('\n') == told.out.size() - 1);
  CHECK(down.check({{"NND_SICK", ""}}).exit_code == 0);
  CHECK(down.check({{"NND_SICK", "DEV-MGMT"}}).exit_code == 0);
  CHECK(Node("dgx-h100").check({{"NND_SICK", "DEV-MGMT"}}).exit_code == 1);
}

TEST_CASE("node health: node-problem-detector's rule names the cause in what it keeps of a line") {
  const json monitor = json::parse(content(kHealth + "node-problem-detector.json"));
  CHECK(monitor["plugin"] == "custom");
  CHECK(monitor["source"].is_string());
  REQUIRE(monitor["rules"].size() == 1);
  const json& rule = monitor["rules"][0];
  REQUIRE(monitor["conditions"].size() == 1);
  CHECK(rule["condition"] == monitor["conditions"][0]["type"]);
  CHECK(rule["reason"] != monitor["conditions"][0]["reason"]);
  CHECK(std::filesystem::exists(
      kHealth + std::filesystem::path(rule["path"].get<std::string>()).filename().string()));
  const auto kept = monitor["pluginConfig"]["max_output_length"].get<std::size_t>();
  const std::string message = Node("rail-down").check().out.substr(0, kept);
  CHECK(message.starts_with("DEV-DOWN: mlx5_4:1 is DOWN (physical state Polling)"));
}

TEST_CASE("node health: NHC marks a sick node offline, and no other") {
  const auto run = [](const std::string& node) {
    const Node one(node);
    const std::string nhc = program(
        one.scratch, "nhc",
        "die() { shift; echo \"$1\"; }\n. '" + kHealth + "nccl-net-diag.nhc'\ncheck_hcas\n");
    return run_script(nhc, {{"NND_TOOL", one.tool}, {"CHECK_HCAS", kHealth + "check-hcas.sh"}});
  };
  const Outcome sick = run("rail-down");
  CHECK(sick.exit_code == 1);
  CHECK(sick.out.starts_with("check_hcas:  DEV-DOWN: mlx5_4:1 is DOWN"));
  CHECK(run("dgx-h100").exit_code == 0);
  CHECK(run("no-such-node").exit_code == 0);
}

TEST_CASE("node health: gpud gets an exit code and a message, and for hardware what to do") {
  const std::string yaml = content(kHealth + "gpud.yaml");
  const auto run = [&](const std::string& node) {
    const Node one(node);
    const std::string step = one.scratch.file("step.sh", block(yaml, "script: |"));
    return run_script(step, {{"NND_TOOL", one.tool}, {"CHECK_HCAS", kHealth + "check-hcas.sh"}});
  };
  const Outcome sick = run("rail-down");
  CHECK(sick.exit_code == 1);
  const auto message = sick.json()["message"].get<std::string>();
  CHECK(message.starts_with("DEV-DOWN: "));
  const auto action = yaml.find("regex: \"^(");
  REQUIRE(action != std::string::npos);
  CHECK(yaml.substr(action, yaml.find('\n', action) - action).find("DEV-DOWN") !=
        std::string::npos);
  CHECK(run("dgx-h100").exit_code == 0);
  CHECK(run("no-such-node").exit_code == 0);
}

TEST_CASE("node health: Slurm drains a sick node, and resumes what it drained itself") {
  const Node sick("rail-down"), well("dgx-h100"), unknown("no-such-node");
  CHECK(Slurm("idle|none").health(well).empty());
  CHECK(Slurm("idle|none").health(unknown).empty());
  CHECK(Slurm("idle|none")
            .health(sick)
            .starts_with(
                "update NodeName=n7 State=DRAIN Reason=nccl-net-diag: DEV-DOWN: mlx5_4:1 is DOWN"));
  CHECK(Slurm("drained|nccl-net-diag: DEV-DOWN: mlx5_4:1").health(sick).empty());
  CHECK(Slurm("drained|nccl-net-diag: DEV-DOWN: mlx5_4:1").health(unknown).empty());
  CHECK(Slurm("drained|nccl-net-diag: DEV-DOWN: mlx5_4:1").health(well) ==
        "update NodeName=n7 State=RESUME\n");
  // Somebody else's.
  CHECK(Slurm("drained|new memory").health(well).empty());
  CHECK(Slurm("draining|new memory").health(sick).empty());
}
