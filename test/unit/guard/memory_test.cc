// A pair whose judging fails by itself, here for want of memory: refused where the policy enforces,
// and said where it warns.
#include <cstdlib>
#include <new>
#include <nlohmann/json.hpp>
#include <string>

#include "guard/guard.h"
#include "guard/pairs.h"
#include "made_pair.h"
#include "support/catch.h"
#include "support/recorded.h"

using namespace nnd;
using test::only;
using Json = nlohmann::json;

namespace {

thread_local int missing = 0;  // so many of this thread's next allocations fail

// What is said when may_pair()'s first allocation fails; its answer has to be that one.
std::vector<Json> judged_without_memory(const std::string& mode, bool may) {
  const test::TempDir dir;
  config::Settings settings;
  settings.policy = dir.file("policy.toml", "mode = \"" + mode + "\"\n");
  return test::recorded([&] {
    guard::start(settings);
    guard::judge(policy::test::rails(2).node, {});
    if (!guard::may_pair(made_pair(1, "10.200.0.3"))) return false;  // a good one
    const state::QpInfo pair = made_pair(2, "10.200.0.3");
    missing = 1;
    return guard::may_pair(pair) == may && missing == 0;
  });
}

}  // namespace

void* operator new(std::size_t size) {
  if (missing > 0 && missing-- > 0) throw std::bad_alloc();
  if (void* const memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

TEST_CASE("guard: a pair that can't be judged is refused in enforce") {
  const auto log = judged_without_memory("enforce", false);
  const auto refused = only(log, "policy.refuse");
  REQUIRE(refused.size() == 1);
  CHECK(refused[0].at("cause") == "POLICY");
  CHECK(refused[0].at("fact") == "judging failed by itself: std::bad_alloc");
}

TEST_CASE("guard: a pair that can't be judged is let through in warn, and said") {
  const auto log = judged_without_memory("warn", true);
  CHECK(only(log, "policy.refuse").empty());
  const auto warned = only(log, "policy.warn");
  REQUIRE(warned.size() == 1);
  CHECK(warned[0].at("cause") == "POLICY");
  CHECK(warned[0].at("msg").get<std::string>().find("std::bad_alloc") != std::string::npos);
}
