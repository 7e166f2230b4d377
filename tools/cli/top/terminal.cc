#include "cli/top/terminal.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <thread>

#include "cli/common/output.h"

namespace nnd::cli {

namespace {

constexpr std::string_view kOtherScreen = "\x1b[?1049h\x1b[?25l",
                           kUsualScreen = "\x1b[?25h\x1b[?1049l";
constexpr std::string_view kHome = "\x1b[H", kRestOfLine = "\x1b[K", kRestOfScreen = "\x1b[J";

bool write_out(std::string_view text) {
  print_out(text);
  return flush_output() == 0;
}

// A job in the background is stopped where it reads keys.
std::optional<termios> listen_for_keys() {
  termios usual{};
  if (isatty(STDIN_FILENO) != 1 || tcgetpgrp(STDIN_FILENO) != getpgrp() ||
      tcgetattr(STDIN_FILENO, &usual) != 0)
    return std::nullopt;
  termios single = usual;
  single.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  single.c_cc[VMIN] = 1;
  single.c_cc[VTIME] = 0;
  // A stopped program can't give the screen back.
  single.c_cc[VSUSP] = static_cast<cc_t>(fpathconf(STDIN_FILENO, _PC_VDISABLE));
  if (tcsetattr(STDIN_FILENO, TCSANOW, &single) != 0) return std::nullopt;
  return usual;
}

}  // namespace

Terminal::Terminal() : usual_(listen_for_keys()) { write_out(kOtherScreen); }

Terminal::~Terminal() {
  write_out(kUsualScreen);
  if (usual_) tcsetattr(STDIN_FILENO, TCSANOW, &*usual_);
}

bool Terminal::show(const std::string& text, const std::string& footer, std::size_t height) {
  const std::size_t most = height > 1 ? height - 1 : height;
  std::string out(kHome);
  std::size_t lines = 0;
  for (std::size_t at = 0; at < text.size() && (height == 0 || lines < most); ++lines) {
    const auto end = std::min(text.find('\n', at), text.size());
    out += lines == 0 ? "" : "\n";
    out.append(text, at, end - at).append(kRestOfLine);
    at = end + 1;
  }
  out.append(kRestOfScreen);
  if (height > 1) out += fmt::format("\x1b[{};1H{}", height, footer);
  return write_out(out);
}

std::optional<char> Terminal::key(std::chrono::milliseconds most) const {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  char key = 0;
  if (!usual_) {
    std::this_thread::sleep_for(most);
    return std::nullopt;
  }
  // Both end early at a signal.
  if (poll(&input, 1, static_cast<int>(most.count())) != 1) return std::nullopt;
  if (read(STDIN_FILENO, &key, 1) == 1) return key;
  std::this_thread::sleep_for(most);  // the terminal is gone
  return std::nullopt;
}

}  // namespace nnd::cli
