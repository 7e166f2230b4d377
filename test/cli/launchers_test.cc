// `preflight` under real launchers, with several tasks on a node of an emulated fabric.
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <fstream>

#include "cli/fabrics.h"
#include "cli/places.h"
#include "support/catch.h"
#include "support/free_port.h"
#include "support/skip.h"

using namespace nnd::cli_test;
using nlohmann::json;

namespace {

constexpr int kSkipped = 77;

const std::string kThreeHosts = hosts_with_rails(3);

Outcome preflight_under(const std::string& launcher) {
  const Places places(kThreeHosts);
  const TemporaryDir dir;
  places.write_environments(dir.path());
  const std::string call = std::string(NND_LAUNCHERS) + " " + launcher + " " + dir.path().string() +
                           " " + NND_TOOL + " preflight --quiet --json --nccl " + NND_CLI_NCCL +
                           " --root 127.0.0.1:" + std::to_string(nnd::test::free_port());
  FILE* const running = popen(call.c_str(), "r");
  REQUIRE(running != nullptr);
  Outcome out;
  std::array<char, 4096> buffer;
  while (const auto size = fread(buffer.data(), 1, buffer.size(), running))
    out.out.append(buffer.data(), size);
  const int status = pclose(running);
  out.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  return out;
}

}  // namespace

TEST_CASE("mpirun: three tasks of one node, one answer", "[mpirun]") {
  const auto got = preflight_under("mpirun");
  INFO(got.out);
  if (got.exit_code == kSkipped) NND_SKIP(got.out);
  REQUIRE(got.exit_code == 0);
  CHECK(got.json()["hosts"] == json{"node0"});
}

TEST_CASE("srun: five tasks on three nodes, one answer", "[srun]") {
  const auto got = preflight_under("srun");
  INFO(got.out);
  if (got.exit_code == kSkipped) NND_SKIP(got.out);
  REQUIRE(got.exit_code == 0);
  const auto said = got.json();
  CHECK(said["hosts"] == json{"node0", "node1", "node2"});
  CHECK(said["pairs"] == json{{"tried", 6}, {"talked", 6}});
  CHECK(said["job"] == json{{"ranks", 3}});
}
