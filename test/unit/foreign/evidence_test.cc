#include "foreign/evidence.h"

#include "support/catch.h"
#include "support/temp_dir.h"

using namespace nnd::foreign;

namespace {

Evidence read(const std::string& text) {
  const nnd::test::TempDir directory;
  return read_files({directory.file("file", text)}, [] { return false; });
}

std::string killed(int pid) {
  return "[  812.250000] Out of memory: Killed process " + std::to_string(pid) +
         " (python) total-vm:1kB\n";
}

}  // namespace

TEST_CASE("of a kernel's log the last lines count, and memory has a bound", "[evidence]") {
  std::string text;
  for (int pid = 1; pid <= 10'003; ++pid) text += killed(pid);
  const auto evidence = read(text);
  REQUIRE(evidence.facts().size() == 10'000);
  CHECK(evidence.left_out == 3);
  CHECK(evidence.facts().front().pid == 4);
  CHECK(evidence.facts().front().line == 4);
}

TEST_CASE("each file is read as what it is", "[evidence]") {
  const auto error = read(R"({"message": "ValueError: no", "timestamp": 5})");
  REQUIRE(error.facts().size() == 1);
  CHECK(error.facts()[0].what == What::kRaised);
  const auto dump = read(R"({"entries": [], "pg_config": {}, "version": "2.10"})");
  CHECK(dump.dumps.size() == 1);
  const auto cut = read(R"({"entries": [{"collective_seq_id": 5)");
  CHECK(cut.dumps.empty());
  REQUIRE(cut.problems.size() == 1);
  // It begins as an error file does, and is another's lines.
  const auto lines = read("{\"message\": \"begin\"}\n" + killed(7));
  REQUIRE(lines.facts().size() == 1);
  CHECK(lines.facts()[0].line == 2);
}

TEST_CASE("huge lines and bytes of any kind hide no line beside them", "[evidence]") {
  const auto evidence =
      read(std::string(1'000'000, '[') + "\n" + std::string("\0\xff[\x80\n", 5) + killed(7));
  REQUIRE(evidence.facts().size() == 1);
  CHECK(evidence.facts()[0].pid == 7);
}
