// A process of the job that is hostile or mad. It has a key, so what it says is heard: it can lie
// about itself, and about whom it waits for, and no more.
#include <array>

#include "nccl_net_diag/causes.h"
#include "support/catch.h"
#include "support/peers_fabric.h"

namespace peers = nnd::peers;
using nnd::test::PeersFabric;
using peers::EndState;
using peers::Kind;

namespace {

constexpr std::uint64_t kSelf = 1, kLiar = 2, kAccused = 3;
constexpr std::uint16_t kCause = static_cast<std::uint16_t>(nccl_net_diag::Cause::kWc12) + 1;

// One that waits for the liar, and perhaps for the accused too.
struct Victim {
  explicit Victim(std::vector<std::uint64_t> waits_for) {
    own.state.who.proc = kSelf;
    own.waits_ms = 9000;
    for (const std::uint64_t proc : waits_for)
      own.edges.push_back({proc, 9000, {{false, 1, EndState::kAwaitsData, 9000, {}}}});
    engine.look(own, now_ms);
    pass(100);
  }
  void pass(std::uint64_t ms) {
    for (const std::uint64_t end = now_ms + ms; now_ms < end;) {
      engine.tick(now_ms += 50);
      for (auto& out : engine.take_out()) ++sent[out.to];
      tries += engine.take_tries().size();
    }
  }
  void hears(std::uint64_t from, const peers::Claim& claim) {
    peers::Message message;
    message.type = peers::Type::kSay;
    message.say.state.who.rank = -77;
    message.say.claim = claim;
    engine.heard(from, message, now_ms);
  }
  void is_asked_by(std::uint64_t from) {
    peers::Message message;
    message.type = peers::Type::kAsk;
    message.ask.links = {{true, 1, EndState::kAwaitsData, ~std::uint32_t{0}, {}}};
    engine.heard(from, message, now_ms);
  }
  Kind kind() const { return engine.claim(now_ms).kind; }

  peers::LocalView own;
  peers::Engine engine{{}};
  std::uint64_t now_ms = 1'000'000;
  std::map<std::uint64_t, std::uint64_t> sent;
  std::uint64_t tries = 0;
};

peers::Claim of(std::uint64_t proc, Kind kind) {
  peers::Claim out;
  out.kind = kind;
  out.who.proc = proc;
  if (kind == Kind::kFailed) out.cause = kCause;
  return out;
}

constexpr std::array kOfOne{Kind::kIdle, Kind::kStopped, Kind::kFailed,
                            Kind::kPort, Kind::kGone,    Kind::kEnded};

}  // namespace

TEST_CASE("who is accused itself knows better") {
  for (const Kind kind : kOfOne) {
    Victim victim({kLiar});
    victim.hears(kLiar, of(kSelf, kind));
    CHECK(victim.kind() == Kind::kNone);
    // What names nobody neither.
    victim.hears(kLiar, of(0, kind));
    CHECK(victim.kind() == Kind::kNone);
  }
}

TEST_CASE("who has been heard of since has not ended") {
  for (const Kind kind : {Kind::kStopped, Kind::kGone, Kind::kEnded}) {
    Victim victim({kLiar, kAccused});
    peers::Claim lie = of(kAccused, kind);
    lie.told_ms = 500;
    victim.hears(kAccused, {});
    victim.hears(kLiar, lie);
    CHECK(victim.kind() == Kind::kNone);
    // It takes no oath: who lies of this very moment is believed until the accused is heard again.
    lie.told_ms = 0;
    victim.hears(kLiar, lie);
    CHECK(victim.kind() == kind);
    victim.pass(100);
    victim.hears(kAccused, {});
    victim.pass(50);
    CHECK(victim.kind() == Kind::kNone);
  }
}

TEST_CASE("a liar's last word dies with the first of the accused") {
  Victim victim({kLiar, kAccused});
  victim.hears(kLiar, of(kAccused, Kind::kStopped));
  for (int i = 0; i < 6; ++i) {
    victim.pass(400);
    victim.engine.refused(kLiar, victim.now_ms);
  }
  CHECK(victim.engine.claim(victim.now_ms).who.proc == kAccused);
  victim.hears(kAccused, {});
  victim.pass(50);
  const auto said = victim.engine.claim(victim.now_ms);
  CHECK(said.kind == Kind::kEnded);
  CHECK(said.who.proc == kLiar);
}

TEST_CASE("ages and hops that can't be run no number over") {
  for (const Kind kind : kOfOne)
    for (const std::uint16_t hops :
         {std::uint16_t{19'999}, std::uint16_t{20'000}, std::uint16_t{65'535}})
      for (const std::uint32_t told : {0u, 6001u, ~0u}) {
        Victim victim({kLiar});
        peers::Claim lie = of(kAccused, kind);
        lie.hops = hops;
        lie.told_ms = told;
        lie.age_ms = ~std::uint32_t{0};
        victim.is_asked_by(kLiar);
        victim.hears(kLiar, lie);
        const auto said = victim.engine.claim(victim.now_ms);
        CHECK(said.known() == (hops < 20'000 && told == 0));
        if (said.known()) CHECK(said.hops == 20'000);
        victim.pass(2000);
        if (victim.engine.claim(victim.now_ms).known())
          CHECK(victim.engine.claim(victim.now_ms).age_ms == ~std::uint32_t{0});
        CHECK(victim.engine.awaited_ms(victim.now_ms) == ~std::uint32_t{0});
      }
}

TEST_CASE("who says something else all the time is not passed on as often") {
  Victim victim({kLiar});
  for (std::uint64_t proc = 100; proc < 120; ++proc) victim.is_asked_by(proc);
  victim.sent.clear();
  for (int i = 0; i < 1000; ++i) {
    victim.hears(kLiar, of(1000 + static_cast<std::uint64_t>(i),
                           kOfOne[static_cast<std::size_t>(i) % kOfOne.size()]));
    victim.now_ms += 1;
    if (i % 100 == 99) victim.engine.tick(victim.now_ms);
    for (auto& out : victim.engine.take_out()) ++victim.sent[out.to];
  }
  for (const auto& [proc, count] : victim.sent) CHECK(count <= 21);
}

TEST_CASE("however many have come, those that it waits for are asked") {
  Victim victim({});
  for (std::uint64_t proc = 100; proc < 100'100; ++proc) {
    peers::Who who;
    who.proc = proc;
    victim.engine.met(who, victim.now_ms);
  }
  victim.own.edges.push_back({kAccused, 9000, {}});
  victim.engine.look(victim.own, victim.now_ms);
  victim.pass(200);
  CHECK(victim.sent[kAccused] == 1);
  victim.hears(kAccused, of(kAccused, Kind::kIdle));
  CHECK(victim.kind() == Kind::kIdle);
}

TEST_CASE("two refusals of one question are one, and who has never answered is not called ended") {
  Victim victim({kLiar, kAccused});
  victim.hears(kAccused, {});
  victim.pass(1000);
  for (int i = 0; i < 20; ++i) {
    victim.engine.refused(kLiar, victim.now_ms);
    victim.engine.refused(kAccused, victim.now_ms);
  }
  CHECK(victim.kind() == Kind::kNone);
  // It lives, and answers each question.
  for (int round = 0; round < 20; ++round) {
    victim.hears(kAccused, {});
    victim.pass(250);
    for (int i = 0; i < 5; ++i) {
      victim.engine.refused(kAccused, victim.now_ms);
      victim.engine.refused(kLiar, victim.now_ms);
    }
    CHECK(victim.kind() == Kind::kNone);
  }
}

TEST_CASE("the host of one that is silent is tried four times") {
  Victim victim({kLiar});
  victim.hears(kLiar, {});
  victim.pass(60'000);
  CHECK(victim.tries == 4);
}
