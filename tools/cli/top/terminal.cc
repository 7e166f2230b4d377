#include "cli/top/terminal.h"

#include <algorithm>
#include <string_view>

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

}  // namespace

Terminal::Terminal() { write_out(kOtherScreen); }

Terminal::~Terminal() { write_out(kUsualScreen); }

bool Terminal::show(const std::string& text, std::size_t height) {
  std::string out(kHome);
  std::size_t lines = 0;
  for (std::size_t at = 0; at < text.size() && (height == 0 || lines < height); ++lines) {
    const auto end = std::min(text.find('\n', at), text.size());
    out += lines == 0 ? "" : "\n";
    out.append(text, at, end - at).append(kRestOfLine);
    at = end + 1;
  }
  return write_out(out.append(kRestOfScreen));
}

}  // namespace nnd::cli
