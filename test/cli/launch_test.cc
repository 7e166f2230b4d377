// run and env: another program becomes this one, with what NCCL needs.
#include <cstdlib>
#include <filesystem>

#include "cli/tool.h"
#include "support/catch.h"
#include "support/skip.h"

using namespace nnd::cli_test;

TEST_CASE("run is the program that it is given", "[launch]") {
  const Outcome plugin = run_tool({"run", "--", "sh", "-c", "printf %s \"$NCCL_NET_PLUGIN\""});
  INFO(plugin.out << plugin.err);
  CHECK(plugin.exit_code == 0);
  CHECK(plugin.err.empty());
  CHECK(std::filesystem::path(plugin.out).is_absolute());
  CHECK(std::filesystem::path(plugin.out).filename() == "libnccl-net-diag.so");
  CHECK(std::filesystem::exists(plugin.out));
  CHECK(run_tool({"run", "--", "sh", "-c", "exit 7"}).exit_code == 7);
  CHECK(run_tool({"run", "--", "sh", "-c", "kill -TERM $$"}).exit_code == 128 + 15);
  // Options of the program are its own, with and without --.
  CHECK(run_tool({"run", "--", "printf", "%s", "--json"}).out == "--json");
}

TEST_CASE("run says what it can't start", "[launch]") {
  const Outcome missing = run_tool({"run", "--json", "--", "no-such-program"});
  CHECK(missing.exit_code == 2);
  CHECK(missing.json()["error"]["kind"] == "program");
  CHECK(missing.json()["error"]["value"] == "no-such-program");
  const Outcome none = run_tool({"run"});
  CHECK(none.exit_code == 2);
  CHECK(none.out.empty());
}

TEST_CASE("run within run changes nothing", "[launch]") {
  const auto tool = std::string(NND_TOOL);
  const Outcome once = run_tool({"run", "--", "env"});
  const Outcome twice = run_tool({"run", "--", tool, "run", "--", "env"});
  for (const char* name : {"NCCL_NET_PLUGIN=", "NCCL_NET_PLUGIN_REF_COUNT=1"})
    CHECK(twice.out.find(name) != std::string::npos);
  CHECK(twice.out.find("NCCL_NET_DIAG_INNER") == std::string::npos);
  CHECK(once.exit_code == 0);
}

TEST_CASE("env is what run sets, for each shell and as JSON", "[launch]") {
  const Outcome as_json = run_tool({"env", "--json"});
  REQUIRE(as_json.exit_code == 0);
  const auto variables = as_json.json()["variables"];
  CHECK(variables["NCCL_NET_PLUGIN_REF_COUNT"] == "1");
  const auto tool = std::string(NND_TOOL);
  for (const char* shell : {"sh", "bash", "dash", "zsh"}) {
    if (std::system((std::string("command -v ") + shell + " >/dev/null").c_str()) != 0) continue;
    INFO(shell);
    const Outcome shown = run_tool(
        {"run", "--", shell, "-c",
         "unset NCCL_NET_PLUGIN NCCL_NET_PLUGIN_REF_COUNT; eval \"$(" + tool +
             " env)\"; printf '%s %s' \"$NCCL_NET_PLUGIN\" \"$NCCL_NET_PLUGIN_REF_COUNT\""});
    CHECK(shown.err.empty());
    CHECK(shown.out == variables["NCCL_NET_PLUGIN"].get<std::string>() + " 1");
  }
  const Outcome by_name = run_tool({"env", "--by-name", "--json"}, {{"LD_LIBRARY_PATH", "/a"}});
  REQUIRE(by_name.exit_code == 0);
  const auto named = by_name.json()["variables"];
  CHECK(named["NCCL_NET_PLUGIN"] == "diag");
  const auto folder = std::filesystem::path(variables["NCCL_NET_PLUGIN"].get<std::string>());
  CHECK(named["LD_LIBRARY_PATH"] == folder.parent_path().string() + ":/a");
}
