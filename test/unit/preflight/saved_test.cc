#include "cli/preflight/saved.h"

#include <fstream>
#include <sstream>

#include "cli/common/call_error.h"
#include "made.h"
#include "support/catch.h"
#include "support/temp_dir.h"

using namespace nnd::cli;
using namespace nnd::preflight_test;

namespace {

std::string labelled(const std::string& label, const std::string& text) {
  std::string out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out += label + ": " + line + "\n";
  return out;
}

}  // namespace

TEST_CASE("results stand one after the other, or behind labels") {
  const auto one = check(1).dump(2), two = check(2).dump();
  CHECK(objects_in(one + "\n" + two + "\n").size() == 2);
  CHECK(objects_in(labelled("node1", one) + labelled("node2", two)).size() == 2);
  CHECK(objects_in(labelled("  7", one)).size() == 1);
  CHECK(objects_in("").empty());
  CHECK(objects_in(one.substr(0, 100)).size() == 1);  // breaks off: to be told
  CHECK(objects_in(R"({"a": "}{\"{"} {"b": 1})").size() == 2);
}

TEST_CASE("what is read of a directory, and what is told of the rest") {
  const nnd::test::TempDir dir;
  const auto write = [&](const char* name, const std::string& text) {
    std::ofstream(dir.path() / name) << text;
  };
  write("a.json", check(1).dump(2));
  write("b.json", check(2).dump() + "\n" + check(1).dump());
  write("c.json", check(3).dump().substr(0, 80));
  write("d.json", R"({"host": "node9"})");
  write("e.txt", "hello\n");
  const auto got = saved_nodes({dir.path().string()});
  REQUIRE(got.nodes.size() == 2);
  REQUIRE(got.problems.size() == 3);
  CHECK(got.problems[0].find("c.json is not what nccl-net-diag check --json prints: it is no JSON, "
                             "or breaks off.") != std::string::npos);
  CHECK(got.problems[1].find("d.json") != std::string::npos);
  CHECK(got.problems[2].find("e.txt holds no JSON object.") != std::string::npos);
  CHECK_THROWS_AS(saved_nodes({(dir.path() / "none").string()}), CallError);
  CHECK_THROWS_AS(saved_nodes({(dir.path() / "e.txt").string()}), CallError);
}

TEST_CASE("what is nested without end is refused") {
  const nnd::test::TempDir dir;
  std::ofstream(dir.path() / "deep.json") << std::string(1000000, '{');
  std::ofstream(dir.path() / "deeper.json")
      << R"({"host":)" + std::string(100000, '[') + std::string(100000, ']') + "}";
  CHECK_THROWS_AS(saved_nodes({dir.path().string()}), CallError);
}
