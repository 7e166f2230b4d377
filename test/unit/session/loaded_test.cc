// plugin.load: what is wrapped, what is not, and what an NCCL is known to do to its plugins.
#include "session/loaded.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "record/recorder.h"
#include "support/catch.h"
#include "support/temp_dir.h"

using Json = nlohmann::json;
using nnd::inner::Found;

namespace {

// The log of a process of its own in which the plugin was loaded with this.
std::vector<Json> log_of(const Found& found, const nnd::config::Settings& asked = {},
                         const nnd::session::OtherLayers& others = {}) {
  const nnd::test::TempDir directory;
  const std::string file = directory / "log.jsonl";
  const pid_t child = fork();
  if (child == 0) {
    nnd::config::Settings settings = asked;
    settings.file = file;
    nnd::record::start(settings);
    nnd::session::tell_loaded(found, 12, others, settings);
    nnd::record::stop();
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(status == 0);
  std::vector<Json> lines;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) lines.push_back(Json::parse(line));
  REQUIRE_FALSE(lines.empty());
  return lines;
}

Found ib_of(int nccl_version) {
  static const int kTable = 0;
  Found found;
  found.vtable = &kTable;
  found.name = "IB";
  found.module = "/lib/libnccl.so.2";
  found.nccl_version = nccl_version;
  return found;
}

}  // namespace

TEST_CASE("what is wrapped is told first") {
  const Json load = log_of(ib_of(23007)).front();
  CHECK(load["ev"] == "plugin.load");
  CHECK(load["seq"] == 0);
  CHECK(load["sev"] == "info");
  CHECK(load["inner"]["name"] == "IB");
  CHECK(load["nccl_version"] == "2.30.7");
  CHECK(load["net_api"] == 12);
  CHECK(load["layers"] == Json::array({"net", "verbs"}));
}

TEST_CASE("a plugin that wraps nothing says so in one event") {
  Found found;
  found.why = "it hides well";
  const Json load = log_of(found).front();
  CHECK(load["sev"] == "warn");
  CHECK(load["msg"].get<std::string>().find("it hides well") != std::string::npos);
  CHECK(load["layers"] == Json::array({"verbs"}));
}

TEST_CASE("a verbs layer that is not in place is a limit") {
  const Json load = log_of(ib_of(22809), {}, {"no slot", true}).front();
  CHECK(load["layers"] == Json::array({"net", "profiler"}));
  CHECK(load["limits"] == Json::array({"verbs: no slot"}));
}

TEST_CASE("NCCLs that forget their plugin are warned of, unless told not to") {
  const auto load = [](int version) { return log_of(ib_of(version)).front(); };
  unsetenv("NCCL_NET_PLUGIN_REF_COUNT");
  CHECK(load(22703)["sev"] == "info");
  CHECK(load(22803)["sev"] == "warn");
  CHECK(load(22907)["sev"] == "warn");
  CHECK(load(23003)["sev"] == "info");
  CHECK(load(22902)["limits"].size() == 1);
  setenv("NCCL_NET_PLUGIN_REF_COUNT", "1", 1);
  CHECK(load(22809)["sev"] == "info");
  unsetenv("NCCL_NET_PLUGIN_REF_COUNT");
}

TEST_CASE("a variable of ours that is wrong is told with the nearest right one") {
  nnd::config::Settings settings;
  settings.complaints.push_back(
      {"NCCL_NET_DIAG_FIEL", "x", "no such variable", "NCCL_NET_DIAG_FILE"});
  const std::vector<Json> log = log_of(ib_of(22809), settings);
  REQUIRE(log.size() >= 2);
  CHECK(log[1]["ev"] == "env.lint");
  CHECK(log[1]["sev"] == "warn");
  CHECK(log[1]["variable"] == "NCCL_NET_DIAG_FIEL");
  CHECK(log[1]["nearest"] == "NCCL_NET_DIAG_FILE");
}
