// Who is on the way between two processes, and has no key: what it has seen it can send again.
#include "attacker.h"
#include "process.h"
#include "support/catch.h"

namespace peers = nnd::peers;
using nnd::test::Attacker;
using nnd::test::in_name_of;
using nnd::test::Process;
using nnd::test::Relay;
using nnd::test::Word;

namespace {

bool waits_for_late(const Word& first) { return first.kind == peers::Kind::kIdle; }

Attacker::Bytes first_datagram(Process& from, const Attacker& at) {
  for (int tries = 0; tries < 100; ++tries) {
    from.serves(50);
    if (auto came = at.receive()) return came->datagram;
  }
  return {};
}

bool hears(Process& to, const Attacker& at) {
  for (int tries = 0; tries < 50; ++tries) {
    to.serves(50);
    if (at.receive()) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("a hello that is sent on in another's name is nobody's") {
  Process late(1), first(0);
  const Relay relay(first, late, 1);
  const auto hello = first_datagram(first, relay.socket());
  REQUIRE_FALSE(hello.empty());
  const Attacker other;
  for (std::uint64_t proc = 100; proc < 150; ++proc)
    other.send(late.door(), in_name_of(proc, hello));
  CHECK(late.serves(200).behind == 0);
  CHECK_FALSE(other.receive());
}

TEST_CASE("a question that is sent back in the other's name is none") {
  Process late(1), first(0);
  Relay relay(first, late, 1);
  first.waits_for(late, 1);
  REQUIRE(relay.until([](const Word& one, const Word&) { return waits_for_late(one); }));
  // Those that it has had no answer to: of the others the numbers are taken.
  first.serves(2500);
  const auto unanswered = relay.socket().receive_all();
  REQUIRE(unanswered.size() >= 3);
  for (const auto& one : unanswered)
    relay.socket().send(first.door(), in_name_of(late.door().proc, one.datagram));
  CHECK_FALSE(first.serves(200).asked);
}

TEST_CASE("what is sent again is not answered again") {
  Process late(1), first(0);
  Relay relay(first, late, 1);
  first.waits_for(late, 1);
  REQUIRE(relay.until([](const Word& one, const Word&) { return waits_for_late(one); }));
  while (late.serves(200).asked) {
  }
  (void)relay.socket().receive_all();
  for (int i = 0; i < 20; ++i)
    for (const auto& datagram : relay.kept()) relay.socket().send(late.door(), datagram);
  CHECK_FALSE(late.serves(200).asked);
  CHECK_FALSE(relay.socket().receive());
  CHECK(relay.until([&](const Word& one, const Word& two) {
    return waits_for_late(one) && two.behind == first.door().proc;
  }));
}

TEST_CASE("a hello that came from elsewhere first doesn't keep the answers there") {
  Process late(1), first(0);
  Relay relay(first, late, 1);
  const auto hello = first_datagram(first, relay.socket());
  REQUIRE_FALSE(hello.empty());
  const Attacker elsewhere;
  elsewhere.send(late.door(), hello);
  REQUIRE(hears(late, elsewhere));
  first.waits_for(late, 1);
  CHECK(relay.until([](const Word& one, const Word&) { return waits_for_late(one); }));
  // Nor does one of the later ones that comes there once more.
  for (const auto& datagram : relay.kept()) elsewhere.send(late.door(), datagram);
  (void)elsewhere.receive_all();
  late.serves(200);
  CHECK_FALSE(elsewhere.receive());
}
