#include "record/exit_status.h"

#include <csignal>

#include "support/catch.h"

TEST_CASE("whether a program's handler takes SIGTERM", "[summary]") {
  const auto before = std::signal(SIGTERM, SIG_DFL);
  CHECK_FALSE(nnd::record::catches_sigterm());
  std::signal(SIGTERM, SIG_IGN);
  CHECK_FALSE(nnd::record::catches_sigterm());
  std::signal(SIGTERM, [](int) {});
  CHECK(nnd::record::catches_sigterm());
  std::signal(SIGTERM, before);
}
