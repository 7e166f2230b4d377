#include "record/pauses.h"

#include "support/catch.h"

using nnd::record::Pauses;

TEST_CASE("the longest pause of the last seconds is known, and an older one is forgotten") {
  constexpr std::uint64_t kMs = 1'000'000;
  Pauses pauses;
  pauses.add(0, 1000 * kMs);
  CHECK(pauses.longest() == 0);
  std::uint64_t now = 1000 * kMs;
  const auto pass = [&](std::uint64_t after) {
    const auto before = now;
    now += after * kMs;
    pauses.add(before, now);
    return pauses.longest();
  };
  CHECK(pass(100) == 100 * kMs);
  CHECK(pass(180) == 180 * kMs);
  CHECK(pass(100) == 180 * kMs);
  for (int i = 0; i < 20; ++i) pass(100);
  CHECK(pass(100) == 180 * kMs);
  for (int i = 0; i < 40; ++i) pass(100);
  CHECK(pass(100) == 100 * kMs);
  CHECK(pass(5000) == 5000 * kMs);
}
