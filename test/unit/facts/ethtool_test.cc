// What a driver tells by ethtool: asked of a veth, which every kernel has, in a network namespace
// of this test's own.
#include "facts/ethtool.h"

#include <sched.h>

#include <algorithm>
#include <cstdlib>

#include "support/catch.h"
#include "support/forked.h"
#include "support/skip.h"

using namespace nnd::facts;

namespace {

bool cabled() {
  return (unshare(CLONE_NEWNET) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0) &&
         std::system("ip link add v0 type veth peer name v1 >/dev/null 2>&1") == 0;
}

}  // namespace

TEST_CASE("A driver's statistics have their names and values") {
  if (!nnd::test::holds_in_child(cabled)) NND_SKIP("no network namespace with a veth can be made");
  CHECK(nnd::test::holds_in_child([] {
    if (!cabled()) return false;
    const auto all = read_statistics("v0");
    return std::any_of(all.begin(), all.end(), [](const auto& one) {
      return one.first == "peer_ifindex" && one.second > 1;
    });
  }));
}

TEST_CASE("An interface without statistics, and one that isn't there, have none") {
  CHECK(read_statistics("lo").empty());
  CHECK(read_statistics("no-such-dev").empty());
}
