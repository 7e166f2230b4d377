#include "check/run_tool.h"
#include "differential/run.h"
#include "support/temp_dir.h"

namespace nnd::differential {

namespace {

// "2.28.9" of "2.28.9-cu13" and of "2.28.9.post1".
std::string release_of(const std::string& version) {
  std::size_t end = 0;
  for (int dots = 0; end < version.size() && version[end] != '-'; ++end)
    if (version[end] == '.' && ++dots == 3) break;
  return version.substr(0, end);
}

}  // namespace

nlohmann::json predict(const Node& node, const std::string& nccl) {
  const test::TempDir dir;
  check_test::Environment environment = node.environment;
  environment["NCCL_SOCKET_IFNAME"] = "lo";
  const auto outcome =
      check_test::run_tool({"--json", "--mode", "observe", "--nccl", release_of(nccl), "--scenario",
                            dir.file("scenario.toml", node.toml())},
                           environment);
  if (outcome.exit_code > 1) throw std::runtime_error("check: " + outcome.out + outcome.err);
  return outcome.json();
}

}  // namespace nnd::differential
