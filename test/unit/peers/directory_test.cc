#include "peers/directory.h"

#include "peers/seal.h"
#include "support/catch.h"

namespace peers = nnd::peers;

namespace {

peers::Address at(std::uint16_t port) {
  return {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1}, port};
}

peers::Hello hello(std::uint8_t key, std::vector<std::uint32_t> links) {
  peers::Hello out;
  out.key.fill(key);
  out.links = std::move(links);
  return out;
}

}  // namespace

TEST_CASE("each number is taken once, and none that is far behind") {
  peers::Window window;
  CHECK_FALSE(window.take(0));
  CHECK(window.take(1));
  CHECK_FALSE(window.take(1));
  CHECK(window.take(100));
  CHECK_FALSE(window.take(1));
  CHECK_FALSE(window.take(36));
  CHECK(window.take(37));
  CHECK_FALSE(window.take(37));
  CHECK(window.take(101));
  CHECK_FALSE(window.take(100));
}

TEST_CASE("a hello tells who is behind a listener, and its first key is the pair's") {
  peers::Directory directory;
  const auto* const contact = directory.take_hello(1, 2, at(9), hello(7, {4, 5}), 10);
  REQUIRE(contact != nullptr);
  CHECK(directory.process_connected_to(4) == 2);
  CHECK(directory.process_connected_to(6) == 0);
  CHECK(contact->links_heard == 2);
  // The same again adds nothing; another's claim to the same listener neither.
  CHECK(directory.take_hello(1, 2, at(9), hello(7, {4, 5, 6}), 10)->links_heard == 3);
  REQUIRE(directory.take_hello(1, 3, at(10), hello(8, {4, 7}), 10) != nullptr);
  CHECK(directory.process_connected_to(4) == 2);
  // Whoever knows the handle can write a hello in the name of 2, but not with its key.
  CHECK(directory.take_hello(1, 2, at(11), hello(9, {8}), 10) == nullptr);
  CHECK(directory.process_connected_to(8) == 0);
}

TEST_CASE("where both write at once the lesser one's key holds") {
  peers::Directory lesser, greater;
  for (auto* const one : {&lesser, &greater}) {
    auto* const contact = one->add(one == &lesser ? 2 : 1, at(9), {});
    contact->key.fill(one == &lesser ? 11 : 12);
    contact->key_ours = true;
  }
  CHECK(lesser.take_hello(1, 2, at(9), hello(12, {1}), 10) == nullptr);
  const auto* const taken = greater.take_hello(2, 1, at(9), hello(11, {1}), 10);
  REQUIRE(taken != nullptr);
  CHECK(taken->key == hello(11, {}).key);
  CHECK(lesser.take_hello(1, 2, at(9), hello(11, {1}), 10) != nullptr);
}

TEST_CASE("only who has the key can make or read a message, and no bit of it changes unseen") {
  REQUIRE(peers::seals_work());
  const std::vector<std::uint8_t> text{1, 2, 3, 4, 5};
  const peers::Key key = peers::new_key();
  const auto datagram = peers::seal({peers::KeyKind::kPair, 77}, key, text);
  CHECK(datagram.size() == text.size() + peers::kSealed);
  const auto outside = peers::look_outside(datagram);
  REQUIRE(outside);
  CHECK(outside->from == 77);
  CHECK(outside->kind == peers::KeyKind::kPair);
  CHECK(peers::open(datagram, key) == text);
  CHECK_FALSE(peers::open(datagram, peers::new_key()));
  for (std::size_t at = 0; at < datagram.size(); ++at) {
    auto bad = datagram;
    bad[at] ^= 1;
    CHECK_FALSE(peers::open(bad, key));
  }
  CHECK(peers::seal({peers::KeyKind::kPair, 77}, key, text) != datagram);
  const auto secret = peers::new_secret();
  CHECK(peers::key_of_handle(secret, 1) == peers::key_of_handle(secret, 1));
  CHECK(peers::key_of_handle(secret, 1) != peers::key_of_handle(secret, 2));
  for (std::size_t size = 0; size <= peers::kSealed; ++size)
    CHECK_FALSE(peers::look_outside(std::span(datagram).first(std::min(size, datagram.size()))));
}
