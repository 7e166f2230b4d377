// The nodes of examples/fleets, judged as verdicts.toml says that an expert would: in each mode
// which ports are taken, told of and refused, why, check's exit code and the list that it proposes.
#include <fnmatch.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>

#include "check/run_tool.h"
#include "config/toml.h"
#include "softverbs/scenario.h"
#include "support/catch.h"

namespace fs = std::filesystem;
using namespace nnd::check_test;
using nlohmann::json;
using Lines = std::set<std::string>;

namespace {

struct Expected {
  std::vector<std::string> compute, beyond;                                // globs
  std::map<std::string, std::string, std::less<>> refused, flagged, down;  // place, cause
  std::vector<std::string> node;
  std::string list;
  int exit_code = 0;
  Environment environment;
};

std::string place(std::string_view name) {
  return std::string(name) + (name.find(':') == std::string_view::npos ? ":1" : "");
}

std::vector<std::string> words(const toml::table& table, std::string_view key) {
  std::vector<std::string> out;
  if (const toml::array* all = table[key].as_array())
    for (const toml::node& one : *all) out.push_back(one.value_or(std::string()));
  return out;
}

std::map<std::string, std::string, std::less<>> pairs(const toml::table& table,
                                                      std::string_view key) {
  std::map<std::string, std::string, std::less<>> out;
  if (const toml::table* all = table[key].as_table())
    for (const auto& [name, value] : *all)
      out.emplace(std::string(name.str()), value.value_or(std::string()));
  return out;
}

std::map<std::string, std::string, std::less<>> places(const toml::table& table,
                                                       std::string_view key) {
  std::map<std::string, std::string, std::less<>> out;
  for (const auto& [name, cause] : pairs(table, key)) out.emplace(place(name), cause);
  return out;
}

std::map<std::string, Expected> read_verdicts() {
  const toml::parse_result parsed = toml::parse_file(NND_VERDICTS);
  REQUIRE(parsed);
  std::map<std::string, Expected> out;
  for (const auto& [name, value] : parsed.table()) {
    const toml::table& table = *value.as_table();
    Expected one;
    for (const std::string& glob : words(table, "compute")) one.compute.push_back(place(glob));
    for (const std::string& glob : words(table, "beyond")) one.beyond.push_back(place(glob));
    one.refused = places(table, "refused");
    one.flagged = places(table, "flagged");
    one.down = places(table, "down");
    one.node = words(table, "node");
    one.list = table["list"].value_or(std::string());
    one.exit_code = table["exit"].value_or(0);
    for (const auto& [variable, text] : pairs(table, "env")) one.environment[variable] = text;
    out.emplace(std::string(name.str()), std::move(one));
  }
  return out;
}

std::set<std::string> fleets() {
  std::set<std::string> out;
  for (const auto& file : fs::directory_iterator(NND_FLEETS)) out.insert(file.path().stem());
  return out;
}

// "mlx5_0:1 taken", "mlx5_8:1 refused", "mlx5_8:1 told: refuse DEV-MGMT", "told: warn
// DEV-FALLBACK".
Lines said(const json& result) {
  Lines out;
  for (const json& hca : result["hcas"])
    if (hca["verdict"] != "skipped")
      out.insert(hca["name"].get<std::string>() + ":" + hca["port"].dump() + " " +
                 hca["verdict"].get<std::string>());
  for (const json& verdict : result["verdicts"]) {
    if (verdict["decision"] == "info" && verdict["action"] == "allow") continue;  // no broken rule
    const std::string told = "told: " + verdict["decision"].get<std::string>() + " " +
                             verdict["cause"].get<std::string>();
    out.insert(verdict["device"].is_null() ? told
                                           : verdict["device"].get<std::string>() + ":" +
                                                 verdict["port"].dump() + " " + told);
    for (const json& other : verdict["also"]) out.insert(other.get<std::string>() + " " + told);
  }
  for (const json& line : result["proposal"])
    if (const std::string text = line; text.starts_with("export NCCL_IB_HCA=="))
      out.insert("list " + text.substr(20));
  out.insert("exit " + result["exit_code"].dump());
  return out;
}

bool fits(const std::vector<std::string>& globs, const std::string& at) {
  return std::any_of(globs.begin(), globs.end(), [&at](const std::string& glob) {
    return fnmatch(glob.c_str(), at.c_str(), 0) == 0;
  });
}

Lines expected(const Expected& one, const json& result, const std::string& mode) {
  Lines out;
  const bool enforced = mode == "enforce";
  const auto has_place = [&](const std::string& at) { return enforced || !fits(one.beyond, at); };
  const std::string told = " told: " + std::string(mode == "observe" ? "info" : "warn") + " ";
  for (const json& hca : result["hcas"]) {
    const std::string at = hca["name"].get<std::string>() + ":" + hca["port"].dump();
    if (one.refused.contains(at)) continue;
    const bool known = fits(one.compute, at) || one.flagged.contains(at);
    if (known && !one.down.contains(at) && has_place(at)) out.insert(at + " taken");
  }
  for (const auto& [at, cause] : one.refused) {
    if (has_place(at)) out.insert(at + (enforced ? " refused" : " taken"));
    out.insert(at + (enforced ? " told: refuse " : told) + cause);
  }
  for (const auto* all : {&one.flagged, &one.down})
    for (const auto& [at, cause] : *all) out.insert(at + told + cause);
  for (const std::string& cause : one.node) out.insert(told.substr(1) + cause);
  if (!one.list.empty()) out.insert("list " + one.list);
  out.insert("exit " + std::to_string(one.exit_code));
  return out;
}

// What only one of them has.
Lines without(const Lines& all, const Lines& others) {
  Lines out;
  std::set_difference(all.begin(), all.end(), others.begin(), others.end(),
                      std::inserter(out, out.end()));
  return out;
}

// The environment of a process on the fleet's first host, whose files are written once.
Environment emulated(const std::string& name, const Scratch& scratch, const Environment& more) {
  const auto scenario = softverbs::load_scenario(NND_FLEETS "/" + name + ".toml");
  fs::create_directories(scratch / "fabric");
  Environment out = softverbs::materialize(scenario, scenario.hosts.front().name, scratch / "sys",
                                           scratch / "fabric");
  out.erase("NCCL_SOCKET_IFNAME");
  out["NCCL_NET_DIAG_VERBS_LIB"] = softverbs::library_dir() / "libibverbs.so.1";
  out.insert(more.begin(), more.end());
  return out;
}

}  // namespace

TEST_CASE("every fleet has a verdict, and every verdict a fleet") {
  std::set<std::string> judged;
  for (const auto& [name, one] : read_verdicts()) judged.insert(name);
  CHECK(judged == fleets());
  CHECK(judged.size() >= 30);
}

TEST_CASE("fleets are judged as an expert would") {
  for (const auto& [name, one] : read_verdicts()) {
    const Scratch scratch;
    const Environment node = emulated(name, scratch, one.environment);
    for (const std::string mode : {"observe", "warn", "enforce"}) {
      INFO(name << " in " << mode);
      const Outcome outcome = run_tool({"--json", "--mode", mode}, node);
      INFO(outcome.err);
      REQUIRE(outcome.exit_code <= 1);
      const json result = outcome.json();
      const Lines wanted = expected(one, result, mode);
      const Lines now = said(result);
      CHECK(without(now, wanted) == Lines{});
      CHECK(without(wanted, now) == Lines{});
    }
  }
}
