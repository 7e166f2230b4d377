#include "cli/common/scratch_dir.h"

#include <stdlib.h>

#include <cstdlib>
#include <string>

#include "cli/common/call_error.h"
#include "cli/common/exit_code.h"
#include "support/catch.h"

using namespace nnd::cli;

TEST_CASE("a temporary directory that there is not is named, and what to set") {
  const char* before = std::getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("TMPDIR", "/no/such/place", 1);
  try {
    const ScratchDir dir("test");
    FAIL("it was made");
  } catch (const CallError& error) {
    CHECK(error.exit_code() == kNotExamined);
    CHECK(error.kind() == "temporary-directory");
    CHECK(std::string(error.what()).find("/no/such/place: No such file") != std::string::npos);
    CHECK(std::string(error.what()).find("TMPDIR") != std::string::npos);
  }
  kept.empty() ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", kept.c_str(), 1);
}
