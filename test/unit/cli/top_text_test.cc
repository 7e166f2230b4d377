// The page of `top`: what comes first, what fits, and what a terminal is told.
#include <algorithm>
#include <sstream>

#include "cli/top/text.h"
#include "cli/top/words.h"
#include "support/catch.h"
#include "top_made.h"

using namespace nnd::cli;
using namespace nnd::test;

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

// The words of a line.
std::vector<std::string> cells(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> out;
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

Section numbers(std::size_t rows) {
  Section out{"", {"number"}, {}};
  for (std::size_t i = 0; i < rows; ++i) out.rows.push_back({{std::to_string(i)}, Colour::kPlain});
  return out;
}

Screen verbose_screen() {
  Calling calling;
  calling.verbose = true;
  calling.color = When::kNever;
  return Screen(calling);
}

}  // namespace

TEST_CASE("what waits longest comes first, then by rank", "[top]") {
  // Rank 2 waits for 3 s, rank 3 for 7; 0 and 1 for parts of a second, as all that is well.
  std::vector<SeenProcess> processes;
  processes.reserve(4);
  const double waits[] = {0.1, 0.9, 3, 7};
  for (int rank = 0; rank < 4; ++rank)
    processes.push_back(with_rank(
        made_process(100 + rank, 100, {{.started = 1, .posted = 100 - waits[rank]}}), rank, 4));
  const auto lines = lines_of(top_page(Tracker().see(made_look(100, processes)), 1, Screen()));
  REQUIRE(lines.size() == 6);
  CHECK(lines[0] == "node0");
  std::vector<std::string> ranks, ages;
  for (std::size_t i = 2; i < lines.size(); ++i) {
    ranks.push_back(cells(lines[i])[0]);
    ages.push_back(cells(lines[i])[8]);
  }
  CHECK(ranks == std::vector<std::string>{"3", "2", "0", "1"});
  CHECK(ages == std::vector<std::string>{"7.0", "3.0", "0.1", "0.9"});
  // One that shows no sign of life is among them.
  processes[1].header.alive_mono_ns = at(94.5);
  const auto silent = lines_of(top_page(Tracker().see(made_look(100, processes)), 1, Screen()));
  CHECK(cells(silent[3])[0] == "1");
}

TEST_CASE("ranks of a communicator that are at the same task share a line", "[top]") {
  const auto process = [](int rank, std::uint64_t seq, double changed) {
    return made_process(
        100 + rank, 100, {},
        {made_comm(0x1f, rank, 16,
                   {{.seq = seq, .bytes = 64, .ops = 4, .ops_done = 3, .changed = changed}})});
  };
  const auto view = Tracker().see(made_look(
      100, {process(0, 9, 99), process(1, 9, 98), process(2, 9, 99.5), process(3, 8, 60)}));
  const auto lines = lines_of(top_page(view, 1, Screen()));
  REQUIRE(lines.size() == 2 + 4 + 1 + 1 + 2);  // the processes, which have no connection
  CHECK(cells(lines[8]) == std::vector<std::string>{"0x1f", "3", "of", "16", "AllReduce", "#8",
                                                    "64", "launched", "4", "3", "40.0"});
  CHECK(cells(lines[9]) == std::vector<std::string>{"0x1f", "0-2", "of", "16", "AllReduce", "#9",
                                                    "64", "launched", "12", "9", "2.0"});
}

TEST_CASE("a row for each connection", "[top]") {
  const auto view = Tracker().see(made_look(
      100, {made_process(7, 100, {{.conn = 5, .kind = "recv", .peer = 3, .channel = 1}})}));
  const auto lines = lines_of(top_page(view, 1, verbose_screen()));
  REQUIRE(lines.size() == 3);
  CHECK(cells(lines[2]) == std::vector<std::string>{"-", "7", "5", "recv", "rank", "3", "1",
                                                    "mlx5_0:1", "ready", "21-34", "-", "0", "-",
                                                    "0"});
}

TEST_CASE("what doesn't fit is counted, and the longest table gives way first", "[top]") {
  const auto all = lines_of(fitted({numbers(30), numbers(3)}, 0, Screen()));
  CHECK(all.size() == 30 + 1 + 1 + 3 + 1);
  for (const std::size_t room : {12u, 20u, 35u}) {
    INFO(room);
    const auto lines = lines_of(fitted({numbers(30), numbers(3)}, room, Screen()));
    CHECK(lines.size() == room);
    const auto shown = room - 1 - 1 - 1 - 4;  // headings, what is lacking, a blank line
    CHECK(cells(lines[shown])[0] == std::to_string(shown - 1));
    CHECK(lines[shown + 1] ==
          "... and " + std::to_string(30 - shown) + (shown == 29 ? " more row" : " more rows"));
    CHECK(cells(lines.back())[0] == "2");  // the short one is whole
  }
  CHECK(lines_of(fitted({numbers(30), numbers(3)}, 36, Screen())) == all);
  // Nothing at all fits: it ends.
  CHECK(lines_of(fitted({numbers(30), numbers(3)}, 1, Screen())).size() == 5);
}

TEST_CASE("nothing that a terminal obeys comes out of a box", "[top]") {
  const std::string hostile = "\x1b[31m\xc2\x9b\x07\n";
  auto process = made_process(
      7, 100, {{.stage = "ready", .device = hostile, .started = 1, .posted = 1, .comm = 0x1f}},
      {made_comm(0x1f, 0, 2, {{.func = hostile, .ops = 2, .ops_done = 1, .changed = 1}})});
  put(process.header.host, hostile);
  auto look = made_look(100, {process});
  look.unread.push_back({8, hostile});
  const auto view = Tracker().see(look);
  std::string said = top_verdict(view);
  for (const auto& line : top_brief(view)) said += line;
  for (const auto& screen : {Screen(), verbose_screen()}) said += top_page(view, 1, screen);
  CHECK(said.find("?[31m") != said.npos);
  CHECK(std::none_of(said.begin(), said.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\n') || byte == 0x9b || byte == 0x7f;
  }));
  CHECK(lines_of(top_verdict(view)).size() == 1);
}
