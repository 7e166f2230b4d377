#include "inner/last_error.h"

#include <cstring>

#include "context/keep_loaded.h"
#include "fixture.h"

TEST_CASE("what NCCL warned of last is told in one line that fits a sentence") {
  CHECK(nnd::inner::last_error().empty());  // nobody to ask
  const auto nccl = Fixture::named("nccl");
  nnd::context::keep_loaded(nccl.caller());
  nnd::inner::ask_for_errors(*nnd::inner::module_of(nccl.caller()));
  CHECK(nnd::inner::last_error().empty());
  char* const text = static_cast<char*>(nccl.symbol("fixture_last_error"));
  REQUIRE(text != nullptr);
  const auto told = [&](const std::string& warning) {
    std::strncpy(text, warning.c_str(), 1023);
    return nnd::inner::last_error();
  };
  CHECK(told("NET/IB: open failed: No such file or directory") ==
        "NET/IB: open failed: No such file or directory");
  CHECK(told("\nMessage truncated : received 8 bytes.\nmore").empty());
  CHECK(told("socketProgress: closed. \nmore") == "socketProgress: closed");
  CHECK(told(std::string(900, 'x')) == std::string(200, 'x'));
}
