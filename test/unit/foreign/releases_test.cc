// Different releases of NCCL, by what their processes look for in a net plugin.
#include "foreign/releases.h"

#include <sstream>

#include "foreign/nccl_text.h"
#include "support/catch.h"

using namespace nnd::foreign;
using nccl_net_diag::Cause;

namespace {

std::optional<Fact> mixed(const std::string& lines) {
  std::vector<Fact> facts;
  NcclText text([&](Fact&& fact) { facts.push_back(std::move(fact)); });
  std::istringstream in(lines);
  std::uint64_t number = 0;
  for (std::string line; std::getline(in, line);) text.take(line, ++number);
  return mixed_releases(facts);
}

std::string lacks(const std::string& host, const std::string& api) {
  return host + ":10:11 [0] NCCL INFO NET/Plugin: Failed to find ncclNetPlugin" + api +
         " symbol.\n";
}

const std::string kStranger =
    "node0:10:11 [0] NCCL WARN ncclSocketInit: connecting to address  with family 0 is neither "
    "AF_INET(2) nor AF_INET6(10)\n";

}  // namespace

TEST_CASE("releases that don't understand each other", "[releases]") {
  const auto found = mixed(lacks("node1", "_v6") + lacks("node2", "_v7") + kStranger);
  REQUIRE(found);
  CHECK(found->what == What::kFailure);
  CHECK(found->cause == Cause::kIncVersion);
  CHECK(found->sure == Sure::kFollows);
  CHECK(found->detail == "the NCCL of node1 knows net plugins up to v6, that of node2 up to v7");
  CHECK(found->line == 1);
  CHECK(found->writer.host == "node1");
}

TEST_CASE("releases that nothing tells apart", "[releases]") {
  // From 2.24 on all versions are named, the newest first.
  std::string all;
  for (const auto* host : {"node1", "node2"})
    for (const auto* api : {"_v10", "_v9", "_v8"}) all += lacks(host, api);
  CHECK_FALSE(mixed(all + kStranger));
  CHECK_FALSE(mixed(lacks("node1", "_v6") + lacks("node2", " symbol (>= v5).") + kStranger));
  CHECK_FALSE(mixed(lacks("node1", "_v6") + lacks("node2", "_v7")));  // nothing failed of it
  CHECK_FALSE(mixed(kStranger));
}
