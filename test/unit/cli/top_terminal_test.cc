// `top` on a terminal: drawn anew in its place until somebody ends it, and the usual screen comes
// back.
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include <cctype>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "cli/common/output.h"
#include "cli/top/command.h"
#include "cli/top/look.h"
#include "living.h"
#include "support/catch.h"
#include "support/temp_dir.h"
#include "top_made.h"

using namespace nnd::cli;
using nnd::test::Living;

namespace {

struct Size {
  unsigned short rows = 9, columns = 90;
};
constexpr const char* kHome = "\x1b[H";

std::size_t count_of(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++count;
  return count;
}

// The tool on a terminal of its own.
class OnTerminal {
 public:
  explicit OnTerminal(const TopOptions& options, Size of = {}) {
    winsize size{};
    size.ws_row = of.rows;
    size.ws_col = of.columns;
    std::fflush(nullptr);
    pid_ = ::forkpty(&fd_, nullptr, nullptr, &size);
    if (pid_ != 0) return;
    ::alarm(60);
    ::setenv("TERM", "xterm", 1);
    for (const char* const name : {"LINES", "COLUMNS"}) ::unsetenv(name);
    Calling calling;
    calling.command = "top";
    const int code = answer(calling, [&] { return top(options, calling); });
    flush_output();
    ::_exit(code);
  }
  ~OnTerminal() {
    if (pid_ > 0) ::kill(pid_, SIGKILL);
    exit_code();
    ::close(fd_);
  }
  OnTerminal(const OnTerminal&) = delete;
  OnTerminal& operator=(const OnTerminal&) = delete;

  // All that came so far; until it has been drawn so often, or to its end.
  const std::string& read(std::size_t frames = ~std::size_t{0}) {
    char part[4096];
    while (count_of(text_, kHome) < frames) {
      const ssize_t some = ::read(fd_, part, sizeof(part));
      if (some <= 0) break;  // EIO: nobody has it open any more
      text_.append(part, static_cast<std::size_t>(some));
    }
    return text_;
  }
  // All that came so far; until this came after `from`, or to its end.
  bool read_until(const std::string& wanted, std::size_t from = 0) {
    char part[4096];
    while (text_.find(wanted, from) == text_.npos) {
      const ssize_t some = ::read(fd_, part, sizeof(part));
      if (some <= 0) return false;
      text_.append(part, static_cast<std::size_t>(some));
    }
    return true;
  }
  std::size_t size() const { return text_.size(); }
  void hit(char key) const { CHECK(::write(fd_, &key, 1) == 1); }
  // Whether keys come one by one, and unseen.
  bool takes_keys() const {
    termios now{};
    REQUIRE(::tcgetattr(fd_, &now) == 0);
    return (now.c_lflag & static_cast<tcflag_t>(ICANON | ECHO)) == 0;
  }
  void signal(int number) const { ::kill(pid_, number); }
  int exit_code() {
    if (pid_ > 0) ::waitpid(pid_, &status_, 0);
    pid_ = -1;
    return WIFEXITED(status_) ? WEXITSTATUS(status_) : -1;
  }

 private:
  int fd_ = -1, status_ = 0;
  pid_t pid_ = -1;
  std::string text_;
};

void wait_for_box(int pid, std::size_t connections) {
  Looker looker({pid});
  for (int i = 0; i < 3000; ++i) {
    const auto look = looker.look();
    if (!look.processes.empty() && look.processes[0].conns.size() == connections) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

// The lines of each page that was drawn, without escape sequences.
std::vector<std::vector<std::string>> pages_of(const std::string& text) {
  std::vector<std::vector<std::string>> out;
  for (std::size_t at = text.find(kHome); at != text.npos; at = text.find(kHome, at + 1)) {
    auto& lines = out.emplace_back(1);
    const auto end = text.find("\x1b[J", at);
    REQUIRE(end != text.npos);
    for (std::size_t i = at + 3; i < end; ++i) {
      if (text[i] == '\x1b')
        while (!std::isalpha(static_cast<unsigned char>(text[i]))) ++i;
      else if (text[i] == '\n')
        lines.emplace_back();
      else if (text[i] != '\r')
        lines.back() += text[i];
    }
  }
  return out;
}

// Two jobs whose boxes don't change: one waits, of the other all is well. Their last sign of life
// is later than any look.
class TwoJobs {
 public:
  static constexpr int kSick = 2, kWell = 12;

  TwoJobs() {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    const double alive = static_cast<double>(now.tv_sec) + 3600;
    const auto hold = [&](int number, int rank, int ranks, std::uint64_t comm, double waits) {
      std::vector<nnd::test::MadeConnection> conns;
      for (std::uint32_t i = 0; i < 2; ++i)
        conns.push_back({.conn = i + 1,
                         .device = "mlx5_" + std::to_string(i),
                         .rank = rank,
                         .peer = 1 - rank % 2,
                         .started = 9,
                         .completed = 8,
                         .posted = alive - waits,
                         .done = alive - waits - 1,
                         .comm = comm});
      const nnd::test::MadeTask task{
          .seq = 5, .bytes = 64, .ops = 8, .ops_done = 3, .changed = alive - waits};
      auto process = nnd::test::made_process(number, alive, conns,
                                             {nnd::test::made_comm(comm, rank, ranks, {task})});
      holders_.emplace_back(dir_ / (std::to_string(number) + ".nndbox"),
                            nnd::test::box_of(process));
    };
    for (int i = 0; i < kWell; ++i) hold(100 + i, i, kWell, 0xbbb, 0.1);
    for (int i = 0; i < kSick; ++i) hold(200 + i, i, kSick, 0xaaa, 60 + i);
  }
  TopOptions options() const {
    TopOptions out;
    for (const auto& one : holders_) out.pids.push_back(one.pid());
    out.interval_sec = 0.2;
    return out;
  }
  nnd::test::Holder& sick(std::size_t i) { return holders_[kWell + i]; }

 private:
  nnd::test::TempDir dir_;
  std::vector<nnd::test::Holder> holders_;
};

}  // namespace

TEST_CASE("top shows the job that waits, whatever the terminal's size", "[top]") {
  TwoJobs jobs;
  for (const Size size : {Size{20, 60}, Size{24, 80}, Size{50, 200}}) {
    INFO(size.columns);
    OnTerminal tool(jobs.options(), size);
    tool.read(3);
    CHECK(tool.takes_keys());
    const auto all = tool.size();
    tool.hit('q');
    const std::string text = tool.read();
    CHECK(tool.exit_code() == 0);
    CHECK(text.find("\x1b[?1049l", all) != text.npos);
    CHECK(text.find("q ends") != text.npos);
    const auto pages = pages_of(text);
    REQUIRE(pages.size() >= 2);
    const auto& lines = pages[1];
    CHECK(lines.size() < size.rows);  // the last one is the footer's
    std::size_t sick = 0;
    for (const auto& line : lines) {
      INFO(line);
      CHECK(line.size() <= size.columns);
      for (std::size_t i = 0; i < TwoJobs::kSick; ++i)
        for (const char* const hca : {"mlx5_0:1", "mlx5_1:1"})
          if (line.find(" " + std::to_string(jobs.sick(i).pid()) + " ") != line.npos &&
              line.find(hca) != line.npos)
            ++sick;
    }
    CHECK(sick == 4);  // each of the two over each of its HCAs
  }
}

TEST_CASE("top's keys", "[top]") {
  TwoJobs jobs;
  OnTerminal tool(jobs.options(), Size{40, 120});
  tool.read(1);
  tool.hit('?');
  CHECK(tool.read_until("q ends, h or ?"));
  auto from = tool.size();
  tool.hit('h');
  CHECK(tool.read_until("14 processes", from));
  from = tool.size();
  tool.hit('v');
  CHECK(tool.read_until("channel", from));
  tool.hit('p');
  from = tool.size();
  CHECK(tool.read_until("HELD at 20", from));
  tool.hit('x');  // which is none, and is not shown
  tool.hit('q');
  tool.read();
  CHECK(tool.exit_code() == 0);
}

TEST_CASE("top keeps the dead on its page", "[top]") {
  TwoJobs jobs;
  OnTerminal tool(jobs.options(), Size{24, 200});
  tool.read(2);
  const std::string pid = std::to_string(jobs.sick(1).pid());
  jobs.sick(1).end();
  CHECK(tool.read_until("rank 1 (pid " + pid + ") has died"));
  // And goes on to.
  CHECK(tool.read_until("rank 1 (pid " + pid + ") died "));
  const auto from = tool.size();
  CHECK(tool.read_until("No more there", from));
  CHECK(tool.read_until("AllReduce #5, 3 of 8 operations done", from));
  tool.hit('q');
  tool.read();
  CHECK(tool.exit_code() == 0);
}

TEST_CASE("top draws in place, fits, and gives the screen back", "[top]") {
  const nnd::test::TempDir dir;
  constexpr int kConnections = 20;
  const Living process(dir / "log.jsonl", [] {
    for (int i = 0; i < kConnections; ++i)
      nnd::test::open_connection(nnd::state::ConnectionKind::kSend);
  });
  wait_for_box(process.pid(), kConnections);
  for (const int signal : {SIGINT, SIGTERM}) {
    INFO(signal);
    TopOptions options;
    options.pids = {process.pid()};
    options.interval_sec = 0.2;
    OnTerminal tool(options);
    tool.read(3);
    tool.signal(signal);
    const std::string text = tool.read();
    CHECK(tool.exit_code() == 0);
    CHECK(text.starts_with("\x1b[?1049h\x1b[?25l"));
    const auto back = text.find("\x1b[?25h\x1b[?1049l");
    REQUIRE(back != text.npos);
    CHECK(text.rfind(kHome) < back);
    // What was seen last stays.
    CHECK(text.find("1 process, 20 connections", back) != text.npos);
    const auto pages = pages_of(text);
    CHECK(pages.size() >= 3);
    for (const auto& lines : pages) {
      CHECK(lines.size() <= Size().rows);
      for (const auto& line : lines) CHECK(line.size() <= Size().columns);
      CHECK(lines.front().starts_with("1 process, "));
    }
  }
}

TEST_CASE("top ends when all that it shows have ended", "[top]") {
  const nnd::test::TempDir dir;
  Living process(dir / "log.jsonl", [] {});
  wait_for_box(process.pid(), 0);
  TopOptions options;
  options.pids = {process.pid()};
  options.interval_sec = 0.2;
  OnTerminal tool(options);
  tool.read(2);
  const std::string ended =
      "No process is left; pid " + std::to_string(process.pid()) + " has died.";
  process.end();
  const std::string text = tool.read();
  CHECK(tool.exit_code() == 0);
  CHECK(text.find(ended, text.find("\x1b[?1049l")) != text.npos);
}

TEST_CASE("top has nothing to show", "[top]") {
  for (const int pid : {::getpid(), 1 << 22}) {
    TopOptions options;
    options.pids = {pid};
    OnTerminal tool(options);
    const std::string text = tool.read();
    CHECK(tool.exit_code() == (pid == ::getpid() ? 3 : 2));
    CHECK(text.find('\x1b') == text.npos);
    CHECK(text.find(pid == ::getpid() ? "none of these processes has a black box"
                                      : "there is no process 4194304") != text.npos);
  }
}
