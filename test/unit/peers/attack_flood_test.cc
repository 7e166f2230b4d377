// A stranger, or a rank, that sends as fast as it can: the others are served afterwards, and
// nothing that costs more than it did goes out.
#include "attacker.h"
#include "peers/bucket.h"
#include "process.h"
#include "support/catch.h"

namespace peers = nnd::peers;
using nnd::test::all_say;
using nnd::test::Attacker;
using nnd::test::OneWaits;
using nnd::test::Process;
using nnd::test::Word;

TEST_CASE("a flood of what is sealed with no key, cut or too long leaves the channel as it was") {
  OneWaits job;
  Process &late = job.late, &first = job.first;
  REQUIRE(job.is_said());
  const Attacker stranger;
  std::vector<Attacker::Bytes> all;
  const peers::Message nothing;
  for (const auto kind : {peers::KeyKind::kHandle, peers::KeyKind::kPair})
    for (const std::uint64_t from : {std::uint64_t{7}, first.door().proc, late.door().proc}) {
      auto whole = peers::seal({kind, from}, peers::new_key(), peers::encode(nothing));
      for (const std::size_t size :
           {std::size_t{1}, std::size_t{4}, peers::kSealed, peers::kSealed + 1, whole.size(),
            std::size_t{569}, std::size_t{1400}, std::size_t{60'000}}) {
        auto one = whole;
        one.resize(size);
        all.push_back(one);
      }
    }
  for (int round = 0; round < 10; ++round) {
    late.begin_serving(100);
    for (int i = 0; i < 3000; ++i)
      stranger.send(late.door(), all[static_cast<std::size_t>(i) % all.size()]);
    late.word();
  }
  CHECK_FALSE(stranger.receive());
  CHECK(job.is_said());
}

TEST_CASE("a rank that floods with what is sealed well is answered no more than the others") {
  Process late(1), first(0);
  const Attacker mad;
  const peers::Key key = peers::new_key();
  const std::uint64_t proc = 77;
  mad.send(late.door(), Attacker::hello(late.door(), proc, key, {1}));
  REQUIRE(late.serves(200).behind == proc);
  peers::Message ask;
  ask.type = peers::Type::kAsk;
  for (int round = 0; round < 10; ++round) {
    late.begin_serving(100);
    for (std::uint64_t i = 0; i < 2000; ++i) {
      ask.number = 2 + i + 2000 * static_cast<std::uint64_t>(round);
      mad.send(late.door(), peers::seal({peers::KeyKind::kPair, proc}, key, peers::encode(ask)));
    }
    late.word();
  }
  // Its window at the end: nothing but its own is lost.
  ask.number = std::uint64_t{1} << 63;
  mad.send(late.door(), peers::seal({peers::KeyKind::kPair, proc}, key, peers::encode(ask)));
  CHECK(mad.receive_all().size() <= 400);
  first.connects(late, 2);
  first.waits_for(late, 2);
  CHECK(all_say({&late, &first}, [&](const Word& said) {
    return said.kind == peers::Kind::kIdle && said.proc == late.door().proc;
  }));
}

TEST_CASE("a bucket gives so much for each span, whatever the clock says") {
  peers::Bucket bucket(3, 100);
  int taken = 0;
  for (std::uint64_t ms = 1000; ms < 1100; ++ms) taken += bucket.take(ms) ? 1 : 0;
  CHECK(taken == 3);
  CHECK(bucket.take(1100));
  CHECK(bucket.take(~std::uint64_t{0}));
}
