#include "softverbs/fabric.h"

#include <cerrno>

#include "support/catch.h"

using namespace softverbs;

namespace {

constexpr const char* kThree = R"(
resolve_timeout_ms = 900
[[host]]
count = 3
[[host.hca]]
name = "rail"
address = ["10.0.0.{h+1}/24", "fd00:0:0:{h}::1/64"]
[[host.hca]]
name = "front"
address = "10.1.{h}.1/24"
[[route]]
from = "10.1.0.0/24"
to = "10.1.1.0/24"
[[route]]
from = "10.1.0.0/24"
to = "10.1.2.0/24"
lossy = true
)";

struct Case {
  Scenario scenario = parse_scenario(kThree, "x.toml");
  Fabric fabric{scenario};
  LinkState links;

  Resolution to(const std::string& hca, const std::string& address, int index = 3) {
    return fabric.resolve(fabric.endpoint("node0", hca, 1),
                          {true, *parse_address(address), 0, index}, links);
  }
};

}  // namespace

TEST_CASE("the kernel's answers on the way to RTR") {
  Case c;
  CHECK(c.to("rail", "10.0.0.2").error == 0);
  CHECK(c.to("rail", "10.0.0.2").peer == c.fabric.endpoint("node1", "rail", 1));
  CHECK(c.to("rail", "10.0.0.99").error == ETIMEDOUT);  // same subnet, nobody there
  CHECK(c.to("rail", "10.0.0.99").delay_ms == 900);
  CHECK(c.to("rail", "10.1.1.1").error == ETIMEDOUT);  // another subnet, no route
  CHECK(c.to("rail", "fd00:0:0:1::1", 5).error == ENETUNREACH);
  CHECK(c.to("rail", "fd00:0:0:1::1", 5).delay_ms == 0);
  CHECK(c.to("rail", "::").error == EINVAL);
  CHECK(c.to("rail", "fe80::1").error == EINVAL);       // another family
  CHECK(c.to("rail", "10.0.0.2", 9).error == ENODATA);  // an empty slot of its own table
}

TEST_CASE("a route carries, a lossy one swallows") {
  Case c;
  CHECK(c.to("front", "10.1.1.1").peer == c.fabric.endpoint("node1", "front", 1));
  const Resolution lost = c.to("front", "10.1.2.1");
  CHECK(lost.error == 0);
  CHECK_FALSE(lost.peer);
}

TEST_CASE("links that are down") {
  Case c;
  c.links.set_link("node1", "rail", 1, false);
  CHECK(c.to("rail", "10.0.0.2").error == ETIMEDOUT);
  c.links.set_link("node1", "rail", 1, true);
  CHECK(c.to("rail", "10.0.0.2").error == 0);
  c.links.set_lost("node1", true);
  CHECK(c.to("rail", "10.0.0.2").error == ETIMEDOUT);
  c.links.set_link("node0", "rail", 1, false);
  CHECK(c.to("rail", "10.0.0.3").error == ENETUNREACH);
}

TEST_CASE("InfiniBand asks nobody: a wrong LID loses packets") {
  const Scenario scenario =
      parse_scenario("[[host]]\ncount = 2\n[[host.hca]]\nlink_layer = \"infiniband\"\n", "x.toml");
  const Fabric fabric(scenario);
  const Endpoint local = fabric.endpoint("node0", "mlx5_0", 1);
  const Endpoint peer = fabric.endpoint("node1", "mlx5_0", 1);
  CHECK(fabric.resolve(local, {false, {}, peer.port->lid, 0}, {}).peer == peer);
  const Resolution lost = fabric.resolve(local, {false, {}, 999, 0}, {});
  CHECK(lost.error == 0);
  CHECK_FALSE(lost.peer);
}
