#include "scoreboard/headline.h"

#include <fmt/format.h>

#include <regex>

namespace nnd::scoreboard {

namespace {

// Whole words only: mlx5_1 is not mlx5_10, and QP-1 isn't QP-110.
bool has_word(const std::string& text, const std::string& word) {
  const std::regex whole("(^|[^A-Za-z0-9_-])(" + word + ")($|[^A-Za-z0-9_-])");
  return std::regex_search(text, whole);
}

}  // namespace

std::string wrong_with_headline(const Headline& expected, const Seen& seen) {
  const std::string& text = seen.headline;
  if (expected.exit_code >= 0 && seen.report_exit != expected.exit_code)
    return fmt::format("exit code {} and not {}", seen.report_exit, expected.exit_code);
  if (!expected.cause.empty() && !has_word(text, expected.cause)) return "no " + expected.cause;
  if (!expected.device.empty() && !has_word(text, expected.device)) return "no " + expected.device;
  if (!std::regex_search(text, std::regex(expected.says))) return "no \"" + expected.says + "\"";
  return {};
}

}  // namespace nnd::scoreboard
