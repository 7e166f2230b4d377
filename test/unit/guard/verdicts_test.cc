// What the policy says of a node and of pairs, as it gets into the log, and what it keeps from
// NCCL.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "guard/guard.h"
#include "guard/pairs.h"
#include "made_pair.h"
#include "support/catch.h"
#include "support/recorded.h"

using namespace nnd;
using test::only;
using Json = nlohmann::json;
using Strings = std::vector<std::string>;

namespace {

// The events of a process with this policy in which f holds.
template <class F>
std::vector<Json> under(const std::string& policy, F f) {
  const test::TempDir dir;
  config::Settings settings;
  settings.policy = dir.file("policy.toml", policy);
  return test::recorded([&] {
    guard::start(settings);
    return f();
  });
}

// Eight rails and a slow bond on another network.
facts::Node with_bond() {
  policy::test::MadeNode made = policy::test::rails();
  made.add_bond("mlx5_bond_0", "10.1.0.2/16", 25000);
  return made.node;
}

facts::Node two_rails() { return policy::test::rails(2).node; }

Json the_only(const std::vector<Json>& events) {
  REQUIRE(events.size() == 1);
  return events.front();
}

Strings verdicts_of_ports(const std::vector<Json>& log) {
  Strings out;
  for (const Json& event : only(log, "hca.port"))
    out.push_back(event.at("dev").at("name").get<std::string>() + " " +
                  event.at("verdict").get<std::string>());
  return out;
}

}  // namespace

TEST_CASE("guard: by default a broken rule is a warning, and NCCL sees all") {
  const auto log = under("", [] {
    guard::judge(with_bond(), {});
    return guard::mode() == policy::Mode::kWarn && guard::may_see_device("mlx5_bond_0") &&
           guard::may_see_port("mlx5_bond_0", 1) && guard::network_refusal() == nullptr &&
           !guard::refuses_at_init() && guard::hca_summary().find("refused") == std::string::npos;
  });
  CHECK(only(log, "policy.refuse").empty());
  const Json warned = the_only(only(log, "policy.warn"));
  CHECK(warned.at("sev") == "warn");
  CHECK(warned.at("dev") == Json::parse(R"({"name":"mlx5_bond_0","port":1})"));
  CHECK(warned.at("rule") == "hca.bond");
  CHECK(warned.at("cause") == "DEV-BOND");
  CHECK(warned.at("fact") == warned.at("msg"));
  CHECK_FALSE(warned.contains("failure"));
}

TEST_CASE("guard: what only observes tells the same as information") {
  const auto log = under("mode = \"observe\"", [] {
    guard::judge(with_bond(), {});
    return guard::may_see_device("mlx5_bond_0");
  });
  const Json told = the_only(only(log, "policy.warn"));
  CHECK(told.at("sev") == "info");
  CHECK(told.at("rule") == "hca.bond");
}

TEST_CASE("guard: what is enforced hides the refused port and no other") {
  const auto log = under("mode = \"enforce\"", [] {
    guard::judge(with_bond(), {});
    return !guard::may_see_device("mlx5_bond_0") && !guard::may_see_port("mlx5_bond_0", 1) &&
           guard::may_see_device("mlx5_0") && guard::may_see_port("mlx5_0", 1) &&
           guard::network_refusal() == nullptr &&
           guard::hca_summary().ends_with("; refused: mlx5_bond_0:1 (hca.bond)");
  });
  CHECK(only(log, "policy.warn").empty());
  const Json refused = the_only(only(log, "policy.refuse"));
  CHECK(refused.at("sev") == "error");
  CHECK(refused.at("dev").at("name") == "mlx5_bond_0");
  CHECK(refused.at("rule") == "hca.bond");
  CHECK(refused.at("remaining").size() == 8);
  CHECK(refused.at("remaining").front() == "mlx5_0:1");
  const Strings hcas = verdicts_of_ports(log);
  REQUIRE(hcas.size() == 9);
  CHECK(hcas.front() == "mlx5_0 taken");
  CHECK(hcas.back() == "mlx5_bond_0 refused");
}

TEST_CASE("guard: a name that is denied holds in every state, and for a device that comes later") {
  under("mode = \"enforce\"\n[hca]\ndeny = [\"mlx5_[19]\"]\n", [] {
    const bool before = guard::may_see_device("mlx5_1") && guard::may_see_port("mlx5_1", 1);
    facts::Node node = two_rails();
    node.hcas[1].ports[0].choice = facts::PortChoice::kNotActive;
    guard::judge(node, {});
    return before && !guard::may_see_device("mlx5_1") && !guard::may_see_port("mlx5_1", 1) &&
           !guard::may_see_device("mlx5_9") && guard::may_see_device("mlx5_0") &&
           guard::may_see_device("mlx5_7") && guard::may_see_port("mlx5_7", 1);
  });
  under("[hca]\ndeny = [\"mlx5_[19]\"]\n", [] {
    guard::judge(two_rails(), {});
    return guard::may_see_device("mlx5_1") && guard::may_see_device("mlx5_9");
  });
}

TEST_CASE("guard: a refused HCA's place is taken by one beyond NCCL's limit") {
  const auto log = under("mode = \"enforce\"\n[hca]\ndeny = [\"mlx5_0\"]\n", [] {
    policy::test::MadeNode made = policy::test::rails(34);
    for (int i = 32; i < 34; ++i)
      made.port(fmt::format("mlx5_{}", i)).choice = facts::PortChoice::kOverLimit;
    guard::judge(made.node, {});
    return !guard::may_see_device("mlx5_0") && guard::may_see_device("mlx5_32");
  });
  const Strings hcas = verdicts_of_ports(log);
  REQUIRE(hcas.size() == 34);
  CHECK(hcas[0] == "mlx5_0 refused");
  CHECK(hcas[32] == "mlx5_32 taken");
  CHECK(hcas[33] == "mlx5_33 skipped");
}

TEST_CASE("guard: a node is judged once, and by the first policy") {
  const auto log = under("mode = \"enforce\"", [] {
    guard::judge(with_bond(), {});
    guard::judge(two_rails(), {});
    guard::start({});
    return guard::mode() == policy::Mode::kEnforce && !guard::may_see_device("mlx5_bond_0") &&
           facts::current_node().hcas.size() == 9;
  });
  CHECK(only(log, "policy.loaded").size() == 1);
  CHECK(only(log, "policy.refuse").size() == 1);
  CHECK(only(log, "node.facts").size() == 1);
}

TEST_CASE("guard: with no HCA left the network is refused, as one failure") {
  const std::string policy = "mode = \"enforce\"\n[hca]\nallow = [\"no_such\"]\n";
  const auto refuses = [](bool at_init) {
    guard::judge(two_rails(), {});
    const state::Failure* const refusal = guard::network_refusal();
    return refusal != nullptr && refusal->number == 1 &&
           refusal->diagnosis.sentence.starts_with(
               "the network is refused (mode enforce): The policy refuses every HCA of this "
               "node: ") &&
           guard::refuses_at_init() == at_init && !guard::may_pair(made_pair(1, "10.200.0.3"));
  };
  const auto log = under(policy, [&] { return refuses(false); });
  const auto told = only(log, "policy.refuse");
  REQUIRE(told.size() == 2);
  CHECK(told[0].at("failure") == 1);
  CHECK(told[0].at("rule") == "hca.allow");
  CHECK(told[0].at("remaining").empty());
  CHECK_FALSE(told[1].contains("failure"));
  under(policy + "[fallback]\nwhen = \"init\"\n", [&] { return refuses(true); });
}

TEST_CASE("guard: a policy file with a mistake refuses the network only where it is enforced") {
  const std::string mistake = "[hca]\nbond = \"perhaps\"\n";
  auto log = under(mistake, [] { return guard::network_refusal() == nullptr; });
  auto told = only(log, "policy.loaded");
  REQUIRE(told.size() == 2);
  CHECK(told[0].at("mode") == "warn");
  CHECK(told[1].at("sev") == "warn");
  CHECK(told[1].at("cause") == "POLICY");
  CHECK_FALSE(told[1].contains("failure"));

  log = under("mode = \"enforce\"\n" + mistake, [] {
    guard::cannot_enforce({"a later reason"});
    const state::Failure* const refusal = guard::network_refusal();
    return refusal != nullptr && refusal->diagnosis.sentence.starts_with(
                                     "the network is refused (mode enforce): the policy file is "
                                     "wrong: ");
  });
  told = only(log, "policy.loaded");
  REQUIRE(told.size() == 2);
  CHECK(told[1].at("sev") == "error");
  CHECK(told[1].at("failure") == 1);
  CHECK(only(log, "policy.refuse").empty());  // the first reason stays
}

TEST_CASE("guard: what can't be enforced refuses the network, and where nothing is, nothing") {
  const auto refused = [] {
    guard::cannot_enforce({"nobody asks us"});
    guard::cannot_enforce({"nobody asks us"});
    return guard::network_refusal() != nullptr;
  };
  CHECK(only(under("", [&] { return !refused(); }), "policy.refuse").empty());
  const auto log = under("mode = \"enforce\"", refused);
  const Json told = the_only(only(log, "policy.refuse"));
  CHECK(told.at("rule") == "mode");
  CHECK(told.at("fact") == "nobody asks us");
  CHECK(told.at("failure") == 1);
}

TEST_CASE("guard: a pair that breaks a rule is told once per connection") {
  const auto ask = [](bool may) {
    guard::judge(two_rails(), {});
    return guard::may_pair(made_pair(1, "10.200.0.3")) &&
           guard::may_pair(made_pair(1, "10.9.0.3")) == may &&
           guard::may_pair(made_pair(1, "10.9.0.3")) == may &&  // its second QP
           guard::may_pair(made_pair(2, "10.9.0.3")) == may &&
           guard::may_pair(made_pair(1, "10.8.0.3")) == may;
  };
  const std::string rule = "[pair]\nsubnet = \"same\"\n";
  auto log = under("mode = \"enforce\"\n" + rule, [&] {
    if (!ask(false)) return false;
    const auto of_second = state::failure_of(2);
    return of_second && of_second->diagnosis.cause == nccl_net_diag::Cause::kSubRail;
  });
  auto told = only(log, "policy.refuse");
  REQUIRE(told.size() == 3);
  CHECK(told[0].at("conn") == 1);
  CHECK(told[1].at("conn") == 2);
  CHECK(told[2].at("conn") == 1);
  CHECK(told[0].at("sev") == "error");
  CHECK(told[0].at("rule") == "pair.subnet");
  CHECK(told[0].at("cause") == "SUB-RAIL");
  CHECK(told[0].at("dev").at("gid") == "::ffff:10.200.0.2");
  CHECK(told[0].at("peer").at("gid") == "::ffff:10.9.0.3");
  CHECK(told[2].at("peer").at("gid") == "::ffff:10.8.0.3");
  CHECK(told[0].at("failure") != told[1].at("failure"));

  log = under(rule, [&] { return ask(true); });
  CHECK(only(log, "policy.refuse").empty());
  told = only(log, "policy.warn");
  REQUIRE(told.size() == 3);
  CHECK(told[0].at("sev") == "warn");
  CHECK(told[0].at("rule") == "pair.subnet");
}

TEST_CASE("guard: nothing is said of a QP to its own port, or of a device that is not known") {
  const auto log = under("mode = \"enforce\"\n[pair]\nsubnet = \"same\"\nlocal = \"deny\"\n", [] {
    guard::judge(two_rails(), {});
    state::QpInfo stranger = made_pair(1, "10.9.0.3");
    stranger.device = "mlx5_7";
    return guard::may_pair(made_pair(1, "10.200.0.2")) && guard::may_pair(stranger) &&
           !guard::may_pair(made_pair(1, "10.200.1.2"));  // the other rail of this node
  });
  const Json told = the_only(only(log, "policy.refuse"));
  CHECK(told.at("peer").at("gid") == "::ffff:10.200.1.2");
}

TEST_CASE("guard: what is learnt of GPUDirect later is told of this device alone") {
  const auto log = under("[gdr]\nrequire = \"any\"\n", [] {
    facts::Node node = two_rails();
    node.hcas[0].gdr.way = facts::GdrWay::kNone;
    node.hcas[1].gdr.way = facts::GdrWay::kDmabuf;
    guard::judge(node, {});
    guard::rejudge_and_tell_gdr("mlx5_1",
                                {facts::GdrWay::kNone, false, false, 95, "the device takes none"});
  });
  const auto told = only(log, "policy.warn");
  REQUIRE(told.size() == 2);
  CHECK(told[0].at("dev").at("name") == "mlx5_0");
  CHECK(told[1].at("dev").at("name") == "mlx5_1");
  CHECK(told[1].at("rule") == "gdr.require");
}
