#include "facts/refresh.h"

#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

#include "support/catch.h"
#include "support/forked.h"
#include "support/skip.h"
#include "tree.h"

using namespace nnd::facts;

namespace {

// In a network namespace of this process's own, so that nothing else changes there.
bool alone() { return unshare(CLONE_NEWNET) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0; }

// It gets its addresses with that.
bool raise_loopback() {
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  request.ifr_flags = IFF_UP | IFF_LOOPBACK | IFF_RUNNING;
  const bool done = fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &request) == 0;
  close(fd);
  return done;
}

}  // namespace

TEST_CASE("the kernel says that an address changed") {
  if (!nnd::test::holds_in_child(alone)) NND_SKIP("no network namespace can be made here");
  CHECK(nnd::test::holds_in_child([] {
    if (!alone()) return false;
    NetworkChanges changes("/sys");
    return !changes.any() && raise_loopback() && changes.any() && !changes.any();
  }));
}

TEST_CASE("a node is the same until the network is another") {
  test::Tree tree;
  tree.write("nnd-netlink.json",
             R"({"links": [{"ifindex": 2, "name": "ens2", "addrs": ["10.0.0.2/24"]}]})");
  const Node node = collect({}, test::sources(tree));
  const auto again = refreshed(node, {});
  REQUIRE(again);
  CHECK(same_network(node, *again));
  tree.write("nnd-netlink.json",
             R"({"links": [{"ifindex": 2, "name": "ens2", "addrs": ["10.0.0.3/24"]}]})");
  const auto other = refreshed(node, {});
  REQUIRE(other);
  CHECK_FALSE(same_network(node, *other));
  CHECK_FALSE(refreshed(Node(), {}));  // made of no sources: nobody to ask
}
