#include <algorithm>
#include <array>
#include <cstring>
#include <initializer_list>

#include "nccl_net_diag/handle_trailer.h"
#include "net/handle.h"
#include "support/catch.h"

namespace trailer = nccl_net_diag::trailer;
using nnd::net::HandleTail;
using nnd::net::read_trailer;

namespace {
using Handle = std::array<std::uint8_t, trailer::kHandleSize>;

trailer::Trailer sample() {
  trailer::Trailer t{0x1122334455667788u, 42, {}};
  t.gid[0] = 0xFE;
  t.gid[15] = 9;
  t.link_layer = 2;
  t.roce = 2;
  return t;
}
}  // namespace

TEST_CASE("a trailer reads back, and its bytes are where they are said to be") {
  const trailer::Bytes bytes = trailer::encode(sample());
  CHECK(bytes[0] == 0xD9);
  CHECK(bytes[1] == 0xA1);
  CHECK(bytes[4] == 0x88);
  CHECK(bytes[11] == 0x11);
  CHECK(bytes[12] == 42);
  CHECK(bytes[16] == 0xFE);
  CHECK(bytes[31] == 9);
  CHECK(trailer::decode(bytes) == sample());
}

TEST_CASE("a trailer that tells how to ask reads back, with the GID where there is room") {
  const auto told = [](std::initializer_list<std::uint8_t> begin, std::uint32_t listen) {
    trailer::Trailer t{0x1122334455667788u, listen, {}, 2, 2, 40211, {1, 2, 3, 4, 5, 6, 7, 8}};
    std::copy(begin.begin(), begin.end(), t.gid.begin());
    if (begin.size() != 0) t.gid[15] = 9;
    return t;
  };
  const auto none = told({}, 42);
  const auto ipv4 = told({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10}, 42);
  const auto local = told({0xfe, 0x80}, 42);
  for (const auto& one : {none, ipv4, local}) {
    const trailer::Bytes bytes = trailer::encode(one);
    CHECK((bytes[1] & 15) != trailer::kPlain);
    CHECK(bytes[14] == (40211 & 0xff));
    CHECK(bytes[16] == 1);
    CHECK(trailer::decode(bytes) == one);
  }
  // Another one leaves no room for both: they take turns.
  const auto global = told({0x20, 0x01, 0x0d, 0xb8}, 42);
  auto without = global;
  without.gid = {};
  CHECK(trailer::decode(trailer::encode(global)) == without);
  auto odd = told({0x20, 0x01, 0x0d, 0xb8}, 43);
  auto plain = odd;
  plain.port = 0;
  plain.secret = {};
  CHECK(trailer::decode(trailer::encode(odd)) == plain);
  // So does a process that has more listeners than two bytes count.
  odd = told({0xfe, 0x80}, 0x10000);
  CHECK(trailer::decode(trailer::encode(odd))->port == 0);
  CHECK(trailer::decode(trailer::encode(odd))->listen == 0x10000);
}

TEST_CASE("no changed bit of a trailer goes unseen") {
  auto asked = sample();
  asked.port = 7;
  for (const auto& one : {sample(), asked}) {
    const trailer::Bytes good = trailer::encode(one);
    REQUIRE(trailer::decode(good));
    for (std::size_t bit = 0; bit < 8 * trailer::kSize; ++bit) {
      trailer::Bytes bad = good;
      bad[bit / 8] = static_cast<std::uint8_t>(bad[bit / 8] ^ (1u << (bit % 8)));
      INFO("bit " << bit);
      CHECK_FALSE(trailer::decode(bad));
    }
  }
}

TEST_CASE("what is no trailer is not read as one") {
  CHECK_FALSE(trailer::decode(trailer::Bytes{}));
  trailer::Bytes ones;
  ones.fill(0xFF);
  CHECK_FALSE(trailer::decode(ones));
  CHECK_FALSE(trailer::decode(trailer::encode({0, 42, {}})));
  CHECK_FALSE(trailer::decode(trailer::encode({7, 0, {}})));
  CHECK_FALSE(trailer::decode(trailer::encode({7, 42, {}, 3, 0})));
  CHECK_FALSE(trailer::decode(trailer::encode({7, 42, {}, 0, 3})));
}

TEST_CASE("the trailer goes where the transport wrote nothing") {
  for (const std::size_t written : {std::size_t{0}, std::size_t{64}, std::size_t{96}}) {
    Handle handle{};
    HandleTail tail(handle.data());
    std::memset(handle.data(), 0x11, written);
    CHECK(tail.seal(sample()));
    CHECK(read_trailer(handle.data()) == sample());
    for (std::size_t i = 0; i < trailer::kOffset; ++i)
      REQUIRE(handle[i] == (i < written ? 0x11 : 0));
  }
}

TEST_CASE("a handle that the transport needs stays as the transport left it") {
  for (std::size_t written = 97; written <= trailer::kHandleSize; ++written) {
    Handle handle{};
    handle.fill(0xEE);
    HandleTail tail(handle.data());
    std::memset(handle.data(), 0x11, written);
    CHECK_FALSE(tail.seal(sample()));
    for (std::size_t i = 0; i < handle.size(); ++i)
      REQUIRE(handle[i] == (i < written ? 0x11 : 0xEE));
  }
}

TEST_CASE("a single byte written in the tail is enough to leave it alone") {
  for (std::size_t at = trailer::kOffset; at < trailer::kHandleSize; ++at) {
    Handle handle{};
    HandleTail tail(handle.data());
    handle[at] = 1;
    CHECK_FALSE(tail.seal(sample()));
    CHECK(handle[at] == 1);
    CHECK_FALSE(read_trailer(handle.data()));
  }
}

TEST_CASE("after a failed listen the tail is as before") {
  Handle handle{};
  handle.fill(0xEE);
  HandleTail tail(handle.data());
  tail.restore();
  for (const std::uint8_t byte : handle) REQUIRE(byte == 0xEE);
}
