// A process of the job that says of itself what it likes, as often as it can.
#include "attacker.h"
#include "peers/facts_differ.h"
#include "support/catch.h"

namespace peers = nnd::peers;
using nnd::test::Attacker;
using nnd::test::Process;

namespace {

constexpr std::uint64_t kLiar = 77;

std::vector<std::uint8_t> facts(std::int32_t qps, std::uint64_t number, const peers::Key& key) {
  peers::Message message;
  message.type = peers::Type::kFacts;
  message.number = number;
  message.introduction.wants_word = true;
  message.introduction.facts.transport = peers::Transport::kIb;
  message.introduction.facts.qps = qps;
  return peers::seal({peers::KeyKind::kPair, kLiar}, key, peers::encode(message));
}

}  // namespace

TEST_CASE("who says all the time what it is, and asks for an answer, is heard once") {
  Process victim(0, 11);
  const Attacker liar;
  const peers::Key key = peers::new_key();
  liar.send(victim.door(), Attacker::hello(victim.door(), kLiar, key, {1}));
  victim.serves(300);
  nnd::test::Word said;
  std::size_t told = 0;
  std::uint64_t number = 1;
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 50; ++i) {
      ++number;
      liar.send(victim.door(), facts(static_cast<std::int32_t>(number), number, key));
    }
    said = victim.serves(100);
    for (const auto& came : liar.receive_all()) {
      const auto opened = peers::open(came.datagram, key);
      const auto message = opened ? peers::decode(*opened) : std::nullopt;
      if (message && message->type == peers::Type::kFacts) ++told;
    }
  }
  CHECK(said.met == 1);
  CHECK(said.qps == 2);
  CHECK(told >= 1);
  CHECK(told <= 12);
}

TEST_CASE("who has no connection with a process is not told what that is") {
  Process victim(0, 11);
  const Attacker stranger;
  const peers::Key key = peers::new_key();
  // The listener is behind somebody else already.
  const Attacker first;
  first.send(victim.door(), Attacker::hello(victim.door(), 5, peers::new_key(), {1}));
  victim.serves(200);
  stranger.send(victim.door(), Attacker::hello(victim.door(), kLiar, key, {1}));
  victim.serves(200);
  stranger.send(victim.door(), facts(4, 2, key));
  CHECK(victim.serves(300).met == 0);
  CHECK(stranger.receive_all().empty());
}

TEST_CASE("absurd numbers do no harm, and make short texts") {
  peers::ProcessFacts own, absurd;
  own.transport = absurd.transport = peers::Transport::kIb;
  own.nccl = 22809;
  own.version = own.ports = own.mtu = 1;
  own.speed_mbps = 1;
  own.qps = own.traffic_class = own.service_level = 1;
  absurd.nccl = absurd.version = absurd.speed_mbps = ~std::uint32_t{0};
  absurd.ports = absurd.mtu = 0xffff;
  absurd.qps = absurd.traffic_class = absurd.service_level = 0x7fffffff;
  absurd.settings.assign(peers::kMostSettings, {0, 0});
  const auto found = differences(own, absurd, {{0, {"NCCL_ALGO", {}}}});
  CHECK(found.size() == 9);
  for (const auto& one : found) CHECK(one.here.size() + one.there.size() < 32);
}
