#include "cli/common/scratch_dir.h"

#include <stdlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "cli/common/call_error.h"
#include "cli/common/exit_code.h"
#include "support/catch.h"
#include "support/temp_dir.h"

using namespace nnd::cli;

namespace {

// TMPDIR for as long as this lives.
class TemporaryIn {
 public:
  explicit TemporaryIn(const std::string& directory) {
    if (const char* before = std::getenv("TMPDIR")) before_ = before;
    ::setenv("TMPDIR", directory.c_str(), 1);
  }
  ~TemporaryIn() { before_ ? ::setenv("TMPDIR", before_->c_str(), 1) : ::unsetenv("TMPDIR"); }
  TemporaryIn(const TemporaryIn&) = delete;
  TemporaryIn& operator=(const TemporaryIn&) = delete;

 private:
  std::optional<std::string> before_;
};

}  // namespace

TEST_CASE("a temporary directory that there is not is named, and what to set") {
  const TemporaryIn nowhere("/no/such/place");
  try {
    const ScratchDir dir("test");
    FAIL("it was made");
  } catch (const CallError& error) {
    CHECK(error.exit_code() == kNotExamined);
    CHECK(error.kind() == "temporary-directory");
    CHECK(std::string(error.what()).find("/no/such/place: No such file") != std::string::npos);
    CHECK(std::string(error.what()).find("TMPDIR") != std::string::npos);
  }
}

TEST_CASE("TMPDIR says where, whatever comes there, and nothing stays") {
  using Content = ScratchDir::Content;
  for (const auto content : {Content::kAny, Content::kManySmallFiles}) {
    const nnd::test::TempDir place;
    const TemporaryIn there(place.path());
    {
      const ScratchDir dir("test", content);
      CHECK(dir.path().parent_path() == place.path());
      std::ofstream(dir.path() / "file") << "content";
    }
    CHECK(std::filesystem::is_empty(place.path()));
  }
}
