#include "cli/common/screen.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <charconv>
#include <string_view>

#include "cli/common/environment.h"

namespace nnd::cli {

namespace {

// As the variable says, else as the terminal.
std::size_t size_of_output(const char* name, unsigned short winsize::*part) {
  const std::string text = variable(name);
  std::size_t wanted = 0;
  const char* const end = text.data() + text.size();
  if (std::from_chars(text.data(), end, wanted).ptr == end && wanted > 0) return wanted;
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.*part : 0;
}

bool colours_wanted(When when) {
  if (when != When::kAuto) return when == When::kAlways;
  return on_terminal() && variable("NO_COLOR").empty();
}

}  // namespace

bool on_terminal() {
  const std::string terminal = variable("TERM");
  return isatty(STDOUT_FILENO) == 1 && !terminal.empty() && terminal != "dumb";
}

Screen::Screen(const Calling& calling)
    : width_(size_of_output("COLUMNS", &winsize::ws_col)),
      height_(size_of_output("LINES", &winsize::ws_row)),
      coloured_(colours_wanted(calling.color)),
      verbose_(calling.verbose) {}

std::string Screen::paint(const std::string& text, Colour colour) const {
  if (!coloured_ || colour == Colour::kPlain) return text;
  return fmt::format("\x1b[{}m{}\x1b[0m", static_cast<int>(colour), text);
}

std::string Screen::wrap(const std::string& text, std::size_t indent) const {
  if (width_ == 0) return text;
  std::string out;
  std::size_t line = 0;
  for (std::size_t at = 0; at < text.size();) {
    auto end = text.find(' ', at);
    if (end == std::string::npos) end = text.size();
    const auto word = std::string_view(text).substr(at, end - at);
    if (line > indent && line + 1 + word.size() > width_) {
      out += "\n" + std::string(indent, ' ');
      line = indent;
    } else if (at > 0) {
      out += ' ';
      ++line;
    }
    out += word;
    line += word.size();
    at = end + 1;
  }
  return out;
}

}  // namespace nnd::cli
