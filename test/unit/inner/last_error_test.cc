#include "inner/last_error.h"

#include <cstring>

#include "fixture.h"
#include "support/forked.h"

TEST_CASE("what NCCL warned of last is told in one line that fits a sentence") {
  CHECK(nnd::inner::last_error().empty());  // nobody to ask
  const auto nccl = Fixture::named("nccl");
  char* const text = static_cast<char*>(nccl.symbol("fixture_last_error"));
  REQUIRE(text != nullptr);
  const auto told = [&](const std::string& warning, const std::string& as) {
    // Whoever is asked is asked for good.
    return nnd::test::holds_in_child([&] {
      nnd::inner::ask_for_errors(*nnd::inner::module_of(nccl.caller()));
      std::strncpy(text, warning.c_str(), 1023);
      return nnd::inner::last_error() == as;
    });
  };
  CHECK(told("", ""));
  CHECK(told("NET/IB: open failed: No such file or directory",
             "NET/IB: open failed: No such file or directory"));
  CHECK(told("\nMessage truncated : received 8 bytes.\nmore", ""));
  CHECK(told("socketProgress: closed. \nmore", "socketProgress: closed"));
  CHECK(told(std::string(900, 'x'), std::string(200, 'x')));
}
