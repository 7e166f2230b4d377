// Real processes, real sockets on the loopback interface.
#include "peers/channel.h"

#include "attacker.h"
#include "peers/message.h"
#include "process.h"
#include "support/catch.h"

namespace peers = nnd::peers;
using nnd::test::all_say;
using nnd::test::OneWaits;
using nnd::test::Process;
using nnd::test::Word;
using Bytes = nnd::test::Attacker::Bytes;

TEST_CASE("processes find the one that all wait for, and see that it ends") {
  Process late(2), middle(1), first(0);
  middle.connects(late, 1);
  first.connects(middle, 1);
  middle.waits_for(late, 1);
  first.waits_for(middle, 1);
  CHECK(all_say({&late, &middle, &first}, [&](const Word& said) {
    return said.kind == peers::Kind::kIdle && said.proc == late.door().proc && said.rank == 2;
  }));
  ::kill(late.pid(), SIGSTOP);
  CHECK(all_say({&middle, &first}, [&](const Word& said) {
    return said.kind == peers::Kind::kStopped && said.proc == late.door().proc;
  }));
  ::kill(late.pid(), SIGKILL);
  CHECK(all_say({&middle, &first}, [&](const Word& said) {
    return said.kind == peers::Kind::kEnded && said.proc == late.door().proc;
  }));
}

TEST_CASE("who has ended is told though a child that it forked lives on") {
  Process late(1), first(0);
  first.connects(late, 1);
  first.waits_for(late, 1);
  REQUIRE(
      all_say({&late, &first}, [](const Word& said) { return said.kind == peers::Kind::kIdle; }));
  late.forks();
  ::kill(late.pid(), SIGKILL);
  CHECK(all_say({&first}, [](const Word& said) { return said.kind == peers::Kind::kEnded; }));
}

TEST_CASE("a listener learns who has connected to it") {
  Process listener(0), other(1);
  other.connects(listener, 1);
  bool learnt = false;
  for (int tries = 0; !learnt && tries < 100; ++tries) {
    for (auto* const one : {&listener, &other}) one->begin_serving(100);
    learnt = listener.word().behind == other.door().proc;
    other.word();
  }
  CHECK(learnt);
}

TEST_CASE("two with a connection tell each other what they are, once") {
  Process listener(0, 11), other(1, 22), old(2);
  other.connects(listener, 1);
  old.connects(listener, 2);
  const auto both_told = [&] {
    for (int tries = 0; tries < 100; ++tries) {
      for (auto* const one : {&listener, &other, &old}) one->begin_serving(100);
      const Word here = listener.word(), there = other.word();
      old.word();
      if (here.met == 1 && here.qps == 22 && there.met == 1 && there.qps == 11) return true;
    }
    return false;
  };
  CHECK(both_told());
  // Nothing more comes of it, whatever is said again.
  for (auto* const one : {&listener, &other, &old}) one->begin_serving(2500);
  CHECK(listener.word().met == 1);
  CHECK(other.word().met == 1);
  CHECK(old.word().met == 0);
}

TEST_CASE("a stranger gets no answer, whatever it sends, and the channel goes on") {
  OneWaits job;
  Process &late = job.late, &first = job.first;
  REQUIRE(job.is_said());
  const nnd::test::Attacker stranger;
  peers::Message ask;
  ask.type = peers::Type::kAsk;
  ask.number = 1000;
  const auto text = peers::encode(ask);
  const std::uint64_t known = first.door().proc;
  for (int i = 0; i < 200; ++i) {
    stranger.send(late.door(), Bytes{});
    stranger.send(late.door(), Bytes(1500, 'x'));
    stranger.send(late.door(), peers::seal({peers::KeyKind::kPair, known}, peers::new_key(), text));
    stranger.send(late.door(), peers::seal({peers::KeyKind::kHandle, 77}, peers::new_key(), text));
    // Who has the handle may say hello, and nothing else with it.
    stranger.send(
        late.door(),
        peers::seal({peers::KeyKind::kHandle, 77},
                    peers::key_of_handle(late.door().door.secret, late.door().proc), text));
  }
  CHECK(job.is_said());
  CHECK_FALSE(stranger.receive());
}
