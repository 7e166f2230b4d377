#include "report/address_plan.h"

#include "support/catch.h"

using namespace nnd::report;

TEST_CASE("subnets that are neighbours and not all are a plane", "[plan]") {
  const AddressPlan plan({"10.64.0.0/24", "10.64.1.0/24", "10.64.2.0/24", "10.64.3.0/24",
                          "10.65.0.0/24", "10.65.1.0/24", "10.65.2.0/24", "10.65.3.0/24"});
  const auto& planes = plan.planes_of("10.65.2.0/24");
  REQUIRE(planes.size() == 2);  // the smallest first
  CHECK(planes[0].prefix == "10.65.2.0/23");
  CHECK(planes[0].subnets == 2);
  CHECK(planes[1].prefix == "10.65.0.0/22");
  CHECK(planes[1].subnets == 4);
  CHECK(planes[1].all == 8);
}

TEST_CASE("IPv6 has planes, and what is no subnet has none", "[plan]") {
  const AddressPlan plan(
      {"fd00:1:0:1::/64", "fd00:1:0:2::/64", "fd00:2:0:1::/64", "fe80::", "10.0.0.0/8", "x/24"});
  CHECK(plan.planes_of("fd00:1:0:1::/64").front().prefix == "fd00:1::/62");
  for (const char* none : {"10.0.0.0/8", "x/24", "fe80::", "", "10.9.0.0/16"})
    CHECK(plan.planes_of(none).empty());
  CHECK(AddressPlan({"10.1.0.0/16", "10.2.0.0/16"}).planes_of("10.1.0.0/16").empty());
}

TEST_CASE("a subnet of two addresses is a cable, and has another end", "[plan]") {
  CHECK(is_cable("10.0.3.0/31"));
  CHECK(is_cable("fd00::4/126"));
  CHECK_FALSE(is_cable("10.0.3.0/29"));
  CHECK_FALSE(is_cable("10.0.3.1/32"));
  CHECK(other_end("::ffff:10.0.3.0", "10.0.3.0/31") == "10.0.3.1");
  CHECK(other_end("::ffff:10.0.3.6", "10.0.3.4/30") == "10.0.3.5");
  CHECK(other_end("fd00::7", "fd00::6/127") == "fd00::6");
  CHECK_FALSE(other_end("::ffff:10.0.3.7", "10.0.3.4/30"));  // the network's own
  CHECK_FALSE(other_end("::ffff:10.0.9.1", "10.0.3.0/31"));
  CHECK_FALSE(other_end("fe80::1", "10.0.3.0/31"));
}
