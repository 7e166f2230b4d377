#include "cli/report/text.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/common/printable.h"

namespace nnd::cli {

namespace {

constexpr std::size_t kMostLines = 24;  // the verdict, the empty line and the last one are more
constexpr std::size_t kMostOfPart = 3;  // sentences
constexpr std::size_t kNarrowest = 80;

std::size_t height(const std::string& text, std::size_t width) {
  std::size_t out = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    out += width == 0 ? 1 + (end - at) / kNarrowest : 1;
    at = end + 1;
  }
  return out;
}

std::string part_text(const Passage& part, std::size_t most, const Screen& screen) {
  const std::string title = screen.paint(part.title + ":", Colour::kBold);
  const std::size_t shown = std::min(most, part.lines.size());
  std::string out;
  if (shown == 1 && part.lines.size() == 1)
    return screen.wrap(title + " " + printable(part.lines[0]), 2) + "\n";
  out = title + "\n";
  for (std::size_t i = 0; i < shown; ++i)
    out += screen.wrap("  " + printable(part.lines[i]), 4) + "\n";
  if (shown < part.lines.size()) out += fmt::format("  ... {} more\n", part.lines.size() - shown);
  return out;
}

}  // namespace

std::string report_page(const Words& words, const Screen& screen) {
  std::string out;
  std::size_t used = 0;
  bool left_out = false;
  for (const auto& part : words.parts) {
    auto text = part_text(part, screen.verbose() ? part.lines.size() : kMostOfPart, screen);
    if (!screen.verbose() && used + height(text, screen.width()) > kMostLines) {
      text = part_text(part, 1, screen);
      if (used + height(text, screen.width()) > kMostLines) {
        left_out = true;
        continue;
      }
    }
    used += height(text, screen.width());
    out += text;
  }
  if (left_out) out += "More with -v, or --json.\n";
  return out;
}

}  // namespace nnd::cli
