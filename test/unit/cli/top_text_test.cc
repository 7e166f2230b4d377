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
  Section out;
  out.headings = {"number"};
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
  const auto lines = lines_of(top_page(Tracker(0).see(made_look(100, processes)), 1, 0, Screen()));
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
  const auto silent = lines_of(top_page(Tracker(0).see(made_look(100, processes)), 1, 0, Screen()));
  CHECK(cells(silent[4])[0] == "1");
}

TEST_CASE("a column has the share of the port, where a log tells how fast the port is", "[top]") {
  const auto page = [](SeenProcess before, bool told) {
    SeenProcess now = made_process(7, 101, {{.bytes = 5'000'000'000}});
    if (told) before.port_mbps = now.port_mbps = {{"mlx5_0:1", 400000}};
    Tracker tracker(0);
    tracker.see(made_look(100, {before}));
    return lines_of(top_page(tracker.see(made_look(101, {now})), 1, 0, Screen()));
  };
  const auto before = made_process(7, 100, {{}});
  CHECK(page(before, false)[1].find("of port") == std::string::npos);
  const auto lines = page(before, true);
  CHECK(lines[1].find("of port") != std::string::npos);
  CHECK(cells(lines[2])[7] == "10%");  // 40 of 400 Gbit/s
}

TEST_CASE("ranks of a communicator that are at the same task share a line", "[top]") {
  const auto process = [](int rank, std::uint64_t seq, double changed) {
    return made_process(
        100 + rank, 100, {},
        {made_comm(0x1f, rank, 16,
                   {{.seq = seq, .bytes = 64, .ops = 4, .ops_done = 3, .changed = changed}})});
  };
  const auto view = Tracker(0).see(made_look(
      100, {process(0, 9, 99), process(1, 9, 98), process(2, 9, 99.5), process(3, 8, 60)}));
  const auto lines = lines_of(top_page(view, 1, 0, Screen()));
  REQUIRE(lines.size() == 2 + 2 + 4 + 1 + 1 + 2);  // whom to look at; who has no connection
  CHECK(cells(lines[10]) == std::vector<std::string>{"0x1f", "3", "of", "16", "AllReduce", "#8",
                                                     "64", "launched", "4", "3", "40.0"});
  CHECK(cells(lines[11]) == std::vector<std::string>{"0x1f", "0-2", "of", "16", "AllReduce", "#9",
                                                     "64", "launched", "12", "9", "2.0"});
}

TEST_CASE("a row for each connection", "[top]") {
  const auto view = Tracker(0).see(made_look(
      100, {made_process(7, 100, {{.conn = 5, .kind = "recv", .peer = 3, .channel = 1}})}));
  const auto lines = lines_of(top_page(view, 1, 0, verbose_screen()));
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
  CHECK(lines_of(fitted({numbers(30), numbers(3)}, 1, Screen())).empty());
}

TEST_CASE("healthy rows give way before sick ones, whatever table they are in", "[top]") {
  auto sick = numbers(6), well = numbers(9);
  sick.title = "job 1";
  well.title = "job 2";
  for (std::size_t i = 0; i < 4; ++i) sick.rows[i].sick = true;
  using Lines = std::vector<std::string>;
  const auto in = [&](std::size_t room) { return lines_of(fitted({sick, well}, room, Screen())); };
  const Lines head{"job 1", "number", "     0", "     1", "     2"};
  const auto after_head = [&](const Lines& lines) {
    REQUIRE(lines.size() > head.size());
    CHECK(Lines(lines.begin(), lines.begin() + 5) == head);
    return Lines(lines.begin() + 5, lines.end());
  };
  CHECK(after_head(in(9)) == Lines{"     3", "     4", "... and 1 healthy row", "job 2: 9 rows"});
  CHECK(after_head(in(8)) == Lines{"     3", "... and 2 healthy rows", "job 2: 9 rows"});
  CHECK(after_head(in(7)) == Lines{"     3", "... and 2 healthy rows"});
  // Then the sick are counted as well.
  CHECK(after_head(in(6)) == Lines{"... and 3 more rows"});
}

TEST_CASE("the sick job comes first, and each job has its communicators below it", "[top]") {
  const auto of_job = [](int pid, const char* job, std::uint64_t comm, double posted) {
    auto process = with_rank(
        made_process(pid, 100, {{.started = 1, .posted = posted, .comm = comm}},
                     {made_comm(comm, 0, 2, {{.seq = 3, .ops = 2, .ops_done = 1, .changed = 99}})}),
        0, 2);
    process.launch->launcher = "slurm";
    process.launch->job = job;
    return process;
  };
  const auto view =
      Tracker(0).see(made_look(100, {of_job(1, "11", 0x1a, 99.5), of_job(2, "12", 0x1b, 80)}));
  const auto lines = lines_of(top_page(view, 1, 0, Screen()));
  REQUIRE(lines.size() == 2 + 6 + 1 + 6);
  CHECK(lines[0] == "look at rank 0: py-spy dump --pid 2");
  CHECK(lines[2] == "node0, slurm job 12");
  CHECK(cells(lines[7])[0] == "0x1b");
  CHECK(lines[9] == "node0, slurm job 11");
  CHECK(cells(lines[14])[0] == "0x1a");
}

TEST_CASE("who is no more stays, with what he was in", "[top]") {
  const auto process = [](int rank) {
    return with_rank(
        made_process(
            100 + rank, 100, {{.started = 3, .completed = 1, .posted = 99}},
            {made_comm(0x1f, rank, 2, {{.seq = 9, .ops = 4, .ops_done = 3, .changed = 99}})}),
        rank, 2);
  };
  Tracker tracker(0);
  tracker.see(made_look(100, {process(0), process(1)}));
  auto look = made_look(101, {process(0)});
  look.died = {key_of(process(1))};
  CHECK(top_verdict(tracker.see(look)).find("rank 1 (pid 101) has died") != std::string::npos);
  const auto view = tracker.see(made_look(112, {process(0)}));
  CHECK(top_verdict(view).find("rank 1 (pid 101) died 11 s ago") != std::string::npos);
  const auto lines = lines_of(top_page(view, 1, 0, Screen()));
  const auto title = std::find(lines.begin(), lines.end(), "No more there");
  REQUIRE(title != lines.end());
  CHECK(cells(title[2]) == std::vector<std::string>{"1", "101", "node0", "-", "died", "11",
                                                    "AllReduce", "#9,", "3", "of", "4",
                                                    "operations", "done", "2"});
  CHECK(top_brief(view).back() ==
        "node0 rank 1 (pid 101) died 11 s ago: last in AllReduce #9, 3 of 4 operations done");
  // For ten minutes.
  CHECK(tracker.see(made_look(101 + 599, {process(0)})).ended.size() == 1);
  CHECK(tracker.see(made_look(101 + 601, {process(0)})).ended.empty());
}

TEST_CASE("a job that ended as a whole is said once, and a successor is not missed", "[top]") {
  const auto process = [](int pid, const char* job, int rank) {
    auto out = with_rank(made_process(pid, 100, {}), rank, 2);
    out.launch->job = job;
    return out;
  };
  Tracker tracker(0);
  tracker.see(made_look(100, {process(1, "a", 0), process(2, "a", 1), process(3, "b", 0)}));
  const auto once = tracker.see(made_look(101, {process(3, "b", 0)}));
  CHECK(top_verdict(once).find("has ended, and 1 more as well") != std::string::npos);
  const auto later = tracker.see(made_look(102, {process(3, "b", 0)}));
  REQUIRE(later.ended.size() == 2);
  CHECK(top_verdict(later).find("ended") == std::string::npos);
  CHECK_FALSE(later.ended[0].missed);
  const auto again =
      tracker.see(made_look(103, {process(3, "b", 0), process(4, "a", 0), process(5, "a", 1)}));
  CHECK(again.ended.empty());
}

TEST_CASE("another user's process is said to be his, and never passes for one's own", "[top]") {
  constexpr uid_t kOther = 54321;  // whom /etc/passwd doesn't know
  auto own = with_rank(made_process(7, 100, {}), 0, 2);
  auto other = with_rank(
      made_process(8, 100, {{.kind = "recv", .rank = 1, .peer = 0, .started = 1, .posted = 80}}), 1,
      2);
  other.user = kOther;
  other.header.proc_id = own.header.proc_id;  // as he claims
  const auto view = Tracker(0).see(made_look(100, {own, other}));
  REQUIRE(view.processes.size() == 2);
  CHECK(top_verdict(view).ends_with(
      "rank 1's receive from rank 0 over mlx5_0:1 has waited for 20.0 s (pid 8 of uid 54321)."));
  const auto lines = lines_of(top_page(view, 1, 0, Screen()));
  CHECK(std::find(lines.begin(), lines.end(), "node0, user uid 54321") != lines.end());
  CHECK(std::find(lines.begin(), lines.end(), "node0") != lines.end());
}

TEST_CASE("no sentence comes out of a name", "[top]") {
  CHECK(as_word("mlx5_0:1") == "mlx5_0:1");
  CHECK(as_word("fine. Run `x`") == "fine.?Run??x?");
  auto died = with_rank(made_process(7, 100, {}), 0, 2);
  for (const bool plain : {false, true}) {
    died.named = plain ? "/tmp/a-b_1.nndbox" : "/tmp/$(reboot).nndbox";
    Tracker tracker(0);
    tracker.see(made_look(100, {died, made_process(8, 100, {})}));
    auto look = made_look(101, {made_process(8, 101, {})});
    look.died = {key_of(died)};
    const auto at = look_at(tracker.see(look));
    CHECK(at.has_value() == plain);
    if (plain) CHECK(at->command == "nccl-net-diag decode /tmp/a-b_1.nndbox");
  }
}

TEST_CASE("nothing that a terminal obeys comes out of a box", "[top]") {
  const std::string hostile = "\x1b[31m\xc2\x9b\x07\n";
  auto process = made_process(
      7, 100, {{.stage = "ready", .device = hostile, .started = 1, .posted = 1, .comm = 0x1f}},
      {made_comm(0x1f, 0, 2, {{.func = hostile, .ops = 2, .ops_done = 1, .changed = 1}})});
  put(process.header.host, hostile);
  auto look = made_look(100, {process});
  look.unread.push_back({8, hostile});
  const auto view = Tracker(0).see(look);
  std::string said = top_verdict(view);
  for (const auto& line : top_brief(view)) said += line;
  for (const auto& screen : {Screen(), verbose_screen()}) said += top_page(view, 1, 0, screen);
  CHECK(said.find("?[31m") != said.npos);
  CHECK(std::none_of(said.begin(), said.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\n') || byte == 0x9b || byte == 0x7f;
  }));
  CHECK(lines_of(top_verdict(view)).size() == 1);
}
