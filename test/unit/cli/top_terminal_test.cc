// `top` on a terminal: drawn anew in its place until somebody ends it, and the usual screen comes
// back.
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cctype>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "cli/top/command.h"
#include "cli/top/look.h"
#include "living.h"
#include "support/catch.h"
#include "support/temp_dir.h"

using namespace nnd::cli;
using nnd::test::Living;

namespace {

constexpr unsigned short kRows = 9, kColumns = 90;
constexpr const char* kHome = "\x1b[H";

std::size_t count_of(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++count;
  return count;
}

// The tool on a terminal of its own.
class OnTerminal {
 public:
  explicit OnTerminal(const TopOptions& options) {
    winsize size{};
    size.ws_row = kRows;
    size.ws_col = kColumns;
    std::fflush(nullptr);
    pid_ = ::forkpty(&fd_, nullptr, nullptr, &size);
    if (pid_ != 0) return;
    ::alarm(60);
    ::setenv("TERM", "xterm", 1);
    for (const char* const name : {"LINES", "COLUMNS"}) ::unsetenv(name);
    Calling calling;
    calling.command = "top";
    ::_exit(answer(calling, [&] { return top(options, calling); }));
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

}  // namespace

TEST_CASE("top draws in place, fits, and gives the screen back", "[top]") {
  const nnd::test::TempDir dir;
  constexpr int kConnections = 20;
  const Living process(dir / "log.jsonl", [] {
    for (int i = 0; i < kConnections; ++i) nnd::test::open_connection(nnd::state::Kind::kSend);
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
      CHECK(lines.size() <= kRows);
      for (const auto& line : lines) CHECK(line.size() <= kColumns);
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
      "No process is left; pid " + std::to_string(process.pid()) + " has ended.";
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
