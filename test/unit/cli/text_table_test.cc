// Tables on screens of any width: nothing is lost, no line is longer than the screen.
#include "cli/common/text_table.h"

#include <algorithm>
#include <sstream>

#include "support/catch.h"

using namespace nnd::cli;

namespace {

Screen screen_of(std::size_t width) {
  setenv("COLUMNS", std::to_string(width).c_str(), 1);
  Calling calling;
  calling.color = When::kNever;
  Screen out(calling);
  unsetenv("COLUMNS");
  return out;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

TextTable hcas() {
  TextTable out({"rank", "HCA", "link", "GID", "state", "subnet"});
  for (int i = 0; i < 3; ++i)
    out.add({std::to_string(i), "mlx5_" + std::to_string(i), "Ethernet",
             "::ffff:10.200." + std::to_string(i) + ".1", "ACTIVE",
             "10.200." + std::to_string(i) + ".0/24"});
  return out;
}

}  // namespace

TEST_CASE("a table that fits is one table", "[table]") {
  for (const auto& screen : {Screen(), screen_of(100)}) {
    const auto lines = lines_of(hcas().render(screen));
    REQUIRE(lines.size() == 4);
    CHECK(lines[0] == "rank  HCA     link      GID                state   subnet");
    CHECK(lines[1] == "   0  mlx5_0  Ethernet  ::ffff:10.200.0.1  ACTIVE  10.200.0.0/24");
  }
}

TEST_CASE("what is alike in all rows needs no column on a narrow screen", "[table]") {
  const auto lines = lines_of(hcas().render(screen_of(54)));
  REQUIRE(lines.size() == 5);
  CHECK(lines[0] == "rank  HCA     GID                subnet");
  CHECK(lines[1] == "   0  mlx5_0  ::ffff:10.200.0.1  10.200.0.0/24");
  CHECK(lines[4] == "In each row: link Ethernet, state ACTIVE");
}

TEST_CASE("a table that is still too wide goes on below, with its first columns again", "[table]") {
  const auto lines = lines_of(hcas().render(screen_of(36)));
  REQUIRE(lines.size() == 4 + 1 + 4 + 2);
  CHECK(lines[0] == "rank  HCA     GID");
  CHECK(lines[3] == "   2  mlx5_2  ::ffff:10.200.2.1");
  CHECK(lines[4].empty());
  CHECK(lines[5] == "rank  subnet");
}

TEST_CASE("columns that may go do", "[table]") {
  auto table = hcas();
  table.may_lack({"subnet", "GID"});
  const auto lines = lines_of(table.render(screen_of(36)));
  CHECK(lines[0] == "rank  HCA     GID");
  CHECK(lines.size() == 4 + 2);
  CHECK(lines_of(table.render(screen_of(20)))[0] == "rank  HCA");
}

TEST_CASE("no line is longer than the screen, and each cell is there", "[table]") {
  TextTable table({"process", "what was seen", "log"});
  table.add({"node1", "a sentence of several words that goes on for a while",
             "/a/path/without/a/space/that/is/long.jsonl"});
  table.add({"node2", "-", "-"});
  for (std::size_t width = 20; width < 120; ++width) {
    INFO(width);
    const auto text = table.render(screen_of(width));
    for (const auto& line : lines_of(text)) CHECK(line.size() <= width);
    std::string bare = text;
    std::erase_if(bare, [](char c) { return c == ' ' || c == '\n'; });
    CHECK(std::count(bare.begin(), bare.end(), '/') == 8);
    for (const char* const word : {"node1", "node2", "sentence", "while", "several"})
      CHECK(text.find(word) != text.npos);
  }
}
