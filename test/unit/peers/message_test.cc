#include "peers/message.h"

#include <random>

#include "nccl_net_diag/causes.h"
#include "support/catch.h"

namespace peers = nnd::peers;

namespace {

peers::Who who(std::uint64_t proc) {
  peers::Who out;
  out.proc = proc;
  out.rank = 123456;
  out.pid = 4'000'000;
  out.host = "a-host-name-that-is-as-long-as-it-can-be.example.org";
  return out;
}

peers::Doing doing() {
  peers::Doing out;
  out.func = "ReduceScatter-and-more";
  out.comm = ~std::uint64_t{0};
  out.ordinal = 4711;
  out.number = -1;
  out.bytes = std::uint64_t{1} << 40;
  return out;
}

peers::Message largest() {
  peers::Message out;
  out.type = peers::Type::kSay;
  out.number = 7;
  peers::Say& say = out.say;
  say.state.who = who(1);
  say.state.moves = true;
  say.state.idle_ms = 5;
  say.state.awaits = 9;
  say.state.given = say.state.in = doing();
  say.state.posted_ns = ~std::uint64_t{0};
  say.state.posted_receive_ns = 11;
  say.state.elsewhere = 12;
  say.links.assign(peers::kLinksAsked, {true, 77, peers::EndState::kStuck, 1234, {true, 1, 2}});
  say.claim.kind = peers::Kind::kPair;
  say.claim.who = who(2);
  say.claim.other = who(3);
  say.claim.doing = say.claim.other_doing = doing();
  say.claim.cause = 9;
  say.claim.place = "mlx5_bond_0123456789:1";
  say.claim.age_ms = 1;
  say.claim.told_ms = 2;
  say.claim.hops = 3;
  return out;
}

peers::Message introduction() {
  peers::Message out;
  out.type = peers::Type::kFacts;
  out.introduction.who = who(9);
  out.introduction.wants_word = true;
  peers::ProcessFacts& facts = out.introduction.facts;
  facts.nccl = 22809;
  facts.transport = peers::Transport::kIb;
  facts.gids = peers::Gids::kIpv6;
  facts.qps = 4;
  facts.traffic_class = -1;
  facts.all_settings = false;
  facts.settings.assign(peers::kMostSettings, {7, ~std::uint32_t{0}});
  return out;
}

}  // namespace

// What a Say has got since its first version: three times of its state.
constexpr std::size_t kAdded = 2 * sizeof(std::uint64_t) + sizeof(std::uint8_t);

TEST_CASE("a message reads back, and an answer is at most twice a question") {
  const auto bytes = peers::encode(largest());
  CHECK(bytes.size() <= peers::kLargestMessage);
  const auto read = peers::decode(bytes);
  REQUIRE(read);
  CHECK(peers::encode(*read) == bytes);
  CHECK(read->say.claim.other.proc == 3);
  CHECK(read->say.links.at(2).listen == 77);
  CHECK(read->say.state.posted_receive_ns == 11);
  CHECK(std::string_view(read->say.state.given.func) == "ReduceScatter-and-m");
  peers::Message ask;
  ask.type = peers::Type::kAsk;
  CHECK(bytes.size() <= 2 * peers::encode(ask).size());
  peers::Message hello;
  hello.type = peers::Type::kHello;
  hello.hello.who = who(5);
  hello.hello.links.assign(peers::kLinksAtOnce, 8);
  CHECK(peers::encode(hello).size() <= peers::kLargestMessage);
  REQUIRE(peers::decode(peers::encode(hello)));
  CHECK(peers::decode(peers::encode(hello))->hello.links.size() == peers::kLinksAtOnce);
}

TEST_CASE("a cause goes by its id, and each comes back as itself") {
  const auto sent = [](std::uint16_t cause) {
    peers::Message message = largest();
    message.say.claim.cause = cause;
    return peers::decode(peers::encode(message))->say.claim.cause;
  };
  const auto causes = static_cast<std::uint16_t>(nccl_net_diag::kCauses.size());
  for (std::uint16_t cause = 0; cause <= causes; ++cause) CHECK(sent(cause) == cause);
  CHECK(sent(causes + 1) == 0);  // a later version's
}

TEST_CASE("what is cut, too long or of no known kind is no message") {
  const auto bytes = peers::encode(largest());
  for (std::size_t size = 0; size < bytes.size() - kAdded; ++size)
    CHECK_FALSE(peers::decode(std::span(bytes).first(size)));
  auto more = bytes;
  more.resize(peers::kLargestMessage + 1);
  CHECK_FALSE(peers::decode(more));
  for (const std::uint8_t type : {std::uint8_t{0}, std::uint8_t{8}, std::uint8_t{255}}) {
    auto other = bytes;
    other[0] = type;
    CHECK_FALSE(peers::decode(other));
  }
}

TEST_CASE("a text that a terminal would obey is refused") {
  auto message = largest();
  message.say.state.who.host = "a\x1b[2J";
  CHECK_FALSE(peers::decode(peers::encode(message)));
}

TEST_CASE("of a text no more is left than what names have") {
  auto message = largest();
  message.say.state.who.host = "no-de_1.example:2/3+4@5";
  message.say.claim.place = "`a`$(b);\"c\\d|<e>'&";
  const auto read = peers::decode(peers::encode(message));
  REQUIRE(read);
  CHECK(std::string_view(read->say.state.who.host) == "no-de_1.example:2/3+4@5");
  for (const char c : std::string_view(read->say.claim.place))
    CHECK(std::string_view("?abcde").find(c) != std::string_view::npos);
  for (unsigned c = 1; c < 256; ++c) {
    const char one = static_cast<char>(c);
    message.say.claim.place = std::string_view(&one, 1);
    CHECK(peers::decode(peers::encode(message)).has_value() == (c > 0x20 && c < 0x7f));
  }
}

TEST_CASE("what a process is reads back, and has room with the most that it tells") {
  const auto bytes = peers::encode(introduction());
  CHECK(bytes.size() <= peers::kLargestMessage);
  const auto read = peers::decode(bytes);
  REQUIRE(read);
  CHECK(peers::encode(*read) == bytes);
  const peers::Introduction& said = read->introduction;
  CHECK(said.who.proc == 9);
  CHECK_FALSE(said.have_yours);
  CHECK(said.wants_word);
  CHECK(said.facts.nccl == 22809);
  CHECK(said.facts.gids == peers::Gids::kIpv6);
  CHECK(said.facts.qps == 4);
  CHECK(said.facts.traffic_class == -1);
  CHECK_FALSE(said.facts.all_settings);
  REQUIRE(said.facts.settings.size() == peers::kMostSettings);
  CHECK(said.facts.settings.back().value == ~std::uint32_t{0});
  for (std::size_t size = 0; size < bytes.size(); ++size)
    CHECK_FALSE(peers::decode(std::span(bytes).first(size)));
}

TEST_CASE("no bytes do harm") {
  std::mt19937_64 random(5);
  const auto good = peers::encode(GENERATE(largest(), introduction()));
  for (int i = 0; i < 20'000; ++i) {
    auto bad = good;
    for (int n = 0; n < 4; ++n) bad[random() % bad.size()] = static_cast<std::uint8_t>(random());
    if (const auto read = peers::decode(bad)) CHECK(peers::decode(peers::encode(*read)));
  }
}

TEST_CASE("what later versions have added is not needed") {
  const auto bytes = peers::encode(largest());
  const auto read = peers::decode(std::span(bytes).first(bytes.size() - kAdded));
  REQUIRE(read);
  CHECK(read->say.state.posted_ns == 0);
  CHECK(read->say.state.elsewhere == peers::kNever);
  CHECK(read->say.claim.hops == 3);
}
