#include "facts/ip.h"

#include <arpa/inet.h>

#include <array>
#include <random>

#include "support/catch.h"
#include "tree.h"

using namespace nnd::facts;
using nnd::facts::test::gid;

TEST_CASE("prefixes contain what they should") {
  struct Row {
    const char* prefix;
    const char* address;
    bool inside;
  };
  const auto row =
      GENERATE(Row{"10.0.1.2/24", "10.0.1.255", true}, Row{"10.0.1.2/24", "10.0.2.0", false},
               Row{"10.0.1.2/31", "10.0.1.3", true}, Row{"10.0.1.2/31", "10.0.1.4", false},
               Row{"10.0.1.2/32", "10.0.1.2", true}, Row{"10.0.1.2/32", "10.0.1.3", false},
               Row{"0.0.0.0/0", "200.1.1.1", true}, Row{"0.0.0.0/0", "::1", false},
               Row{"fd00:1::2/64", "fd00:1::ffff", true}, Row{"fd00:1::2/64", "fd00:2::2", false},
               Row{"fd00:1::/63", "fd00:1:0:1::", true}, Row{"::/0", "fd00::1", true},
               Row{"10.20.0.0/15", "10.21.255.255", true}, Row{"10.20.0.0/15", "10.22.0.0", false});
  INFO(row.prefix << " " << row.address);
  CHECK(parse_prefix(row.prefix)->contains(*parse_address(row.address)) == row.inside);
}

TEST_CASE("text that is no prefix is turned down") {
  for (const char* text : {"", "10.0.0.1", "10.0.0.1/", "10.0.0.1/33", "10.0.0.1/-1", "10.0.0.1/8x",
                           "::/129", "10.0.0/8", "/8", "10.0.0.1/8/8"})
    CHECK_FALSE(parse_prefix(text).has_value());
}

TEST_CASE("a prefix prints its network") {
  CHECK(parse_prefix("10.0.1.2/24")->network_text() == "10.0.1.0/24");
  CHECK(parse_prefix("10.0.1.255/20")->network_text() == "10.0.0.0/20");
  CHECK(parse_prefix("10.0.1.2/32")->network_text() == "10.0.1.2/32");
  CHECK(parse_prefix("fd00:1::2/64")->network_text() == "fd00:1::/64");
  CHECK(parse_prefix("1.2.3.4/0")->network_text() == "0.0.0.0/0");
}

TEST_CASE("GIDs read as addresses") {
  CHECK(gid_address(gid("10.0.1.2")).text() == "10.0.1.2");
  CHECK(nnd::context::gid_text(gid("10.0.1.2")) == "::ffff:10.0.1.2");
  CHECK(gid_address(gid("fd00::1")).family == Family::kIpv6);
  CHECK(gid_address(nnd::context::Gid{}).family == Family::kIpv6);
  CHECK(nnd::context::gid_zero(nnd::context::Gid{}));
  CHECK(nnd::context::gid_link_local(gid("fe80::1")));
  CHECK_FALSE(nnd::context::gid_link_local(gid("fe80:0:0:1::1")));
  CHECK_FALSE(nnd::context::gid_link_local(gid("fd00::1")));
}

TEST_CASE("GIDs print as inet_ntop prints them") {
  nnd::context::Gid raw{};
  const auto check = [&raw] {
    std::array<char, INET6_ADDRSTRLEN> text{};
    REQUIRE(inet_ntop(AF_INET6, raw.data(), text.data(), text.size()) != nullptr);
    CHECK(nnd::context::gid_text(raw) == text.data());
  };
  check();
  for (const char* text : {"::1", "1::", "fe80::1", "fd00:0:0:1::1", "1:0:0:2:0:0:0:3",
                           "1:0:2:0:3:0:4:0", "::ffff:0:0", "::ffff:10.0.1.2",
                           "0:1::", "abcd:ef01:2345:6789:abcd:ef01:2345:6789", "1:2:3:4:5:6:7::"}) {
    REQUIRE(inet_pton(AF_INET6, text, raw.data()) == 1);
    check();
  }
  std::mt19937 random(7);
  for (int i = 0; i < 20000; ++i) {
    for (unsigned group = 0; group < 8; ++group) {
      // Mostly zero: where the runs are is what can go wrong. The first is not, since inet_ntop
      // has a form of its own for ::a.b.c.d, which is no GID.
      const auto value = random() % 3 == 0 || group == 0 ? random() & 0xffffU : 0U;
      raw[2 * group] = static_cast<std::uint8_t>(value >> 8);
      raw[2 * group + 1] = static_cast<std::uint8_t>(value);
    }
    raw[0] |= 1;
    check();
  }
}
