// A process with another version of the shim: what this one doesn't know says nothing, and nobody
// is called dead because of it.
#include <array>

#include "nccl_net_diag/handle_trailer.h"
#include "peers/engine.h"
#include "peers/facts_differ.h"
#include "peers/message.h"
#include "support/catch.h"

namespace peers = nnd::peers;
namespace trailer = nccl_net_diag::trailer;

TEST_CASE("an answer with a root or a state of an end that only a later version knows is one") {
  peers::Message say;
  say.type = peers::Type::kSay;
  say.say.state.who.proc = 2;
  say.say.links = {{true, 1, static_cast<peers::EndState>(200), 5000, {}}};
  say.say.claim.kind = static_cast<peers::Kind>(200);
  say.say.claim.who.proc = 3;
  const auto read = peers::decode(peers::encode(say));
  REQUIRE(read);
  CHECK(read->say.claim.kind == peers::Kind::kNone);
  CHECK(read->say.links.at(0).state == peers::EndState::kQuiet);
  peers::Engine engine{{}};
  peers::LocalView own;
  own.state.who.proc = 1;
  own.waits_ms = 9000;
  own.edges.push_back({2, 9000, {}});
  std::uint64_t now_ms = 1'000'000;
  engine.look(own, now_ms);
  for (int i = 0; i < 200; ++i) {
    engine.tick(now_ms += 100);
    for (const auto& out : engine.take_out())
      if (out.message.type == peers::Type::kAsk) engine.heard(2, *read, now_ms);
  }
  CHECK(engine.take_tries().empty());
  CHECK(engine.claim(now_ms).kind == peers::Kind::kNone);
}

TEST_CASE("a message of a kind that only a later version knows, or with more in it, harms nobody") {
  peers::Message ask;
  ask.type = peers::Type::kAsk;
  auto bytes = peers::encode(ask);
  bytes.resize(peers::kLargestMessage, 0xff);
  CHECK(peers::decode(bytes));
  for (unsigned type = 8; type < 256; ++type) {
    bytes[0] = static_cast<std::uint8_t>(type);
    CHECK_FALSE(peers::decode(bytes));
  }
}

TEST_CASE("of what only a later version can be nothing follows") {
  peers::Message message;
  message.type = peers::Type::kFacts;
  peers::ProcessFacts& facts = message.introduction.facts;
  facts.transport = static_cast<peers::Transport>(200);
  facts.link_layer = static_cast<peers::LinkLayer>(200);
  facts.gids = static_cast<peers::Gids>(200);
  facts.gpu_direct = static_cast<peers::GpuDirect>(200);
  facts.fusion = static_cast<peers::Fusion>(200);
  const auto read = peers::decode(peers::encode(message));
  REQUIRE(read);
  peers::ProcessFacts own;
  own.transport = peers::Transport::kIb;
  own.link_layer = peers::LinkLayer::kEthernet;
  own.gids = peers::Gids::kIpv4;
  own.gpu_direct = peers::GpuDirect::kWorks;
  own.fusion = peers::Fusion::kOn;
  CHECK(peers::differences(own, read->introduction.facts, {}).empty());
}

TEST_CASE("a trailer of a later version, or that was changed, is none") {
  trailer::Trailer own;
  own.proc = 5;
  own.listen = 6;
  own.port = 7;
  const trailer::Bytes good = trailer::encode(own);
  REQUIRE(trailer::decode(good));
  for (unsigned version = 0; version < 16; ++version) {
    trailer::Bytes other = good;
    other[1] = static_cast<std::uint8_t>((other[1] & 0xf0u) | version);
    trailer::detail::put(other, 2, trailer::detail::checksum(other), 2);
    CHECK(trailer::decode(other).has_value() == (version >= 1 && version <= trailer::kVersion));
  }
}
