#include "config/toml_text.h"

#include <algorithm>
#include <string>

#include "config/plain_text.h"

namespace nnd::config {

namespace {

bool foreign(char character) { return static_cast<unsigned char>(character) >= 0x80; }

// Behind a string that starts at `at` with its quote, or at the first foreign character. A one-line
// string ends with its line at the latest: what follows is an error that the parser finds.
std::size_t skip_line_string(std::string_view text, std::size_t at) {
  const char quote = text[at];
  for (++at; at < text.size() && text[at] != '\n'; ++at) {
    if (foreign(text[at])) return at;
    if (text[at] == quote) return at + 1;
    if (quote == '"' && text[at] == '\\' && at + 1 < text.size() && !foreign(text[at + 1])) ++at;
  }
  return std::min(at, text.size());
}

// The same for three quotes.
std::size_t skip_long_string(std::string_view text, std::size_t at) {
  const std::string quotes(3, text[at]);
  for (at += 3; at < text.size(); ++at) {
    if (foreign(text[at])) return at;
    if (text.substr(at, 3) == quotes) {
      at += 3;
      while (at < text.size() && text[at] == quotes[0]) ++at;  // up to two belong to the string
      return at;
    }
    if (quotes[0] == '"' && text[at] == '\\' && at + 1 < text.size() && !foreign(text[at + 1]))
      ++at;
  }
  return text.size();
}

unsigned line_at(std::string_view text, std::size_t at) {
  return 1 + static_cast<unsigned>(
                 std::count(text.begin(), text.begin() + static_cast<long>(at), '\n'));
}

// Behind the string or the comment that starts at `at`, else `at` itself.
std::size_t skip_aside(std::string_view text, std::size_t at) {
  const bool quote = text[at] == '"' || text[at] == '\'';
  if (text[at] == '#') return std::min(text.find('\n', at), text.size());
  if (quote && text.substr(at, 3) == std::string(3, text[at])) return skip_long_string(text, at);
  return quote ? skip_line_string(text, at) : at;
}

}  // namespace

unsigned line_of_foreign_character(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    if (foreign(text[at])) return line_at(text, at);
    const std::size_t behind = skip_aside(text, at);
    at = behind == at ? at + 1 : behind;
  }
  return 0;
}

unsigned line_of_deep_key(std::string_view text) {
  constexpr int kDeepest = 32;
  int dots = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t behind = skip_aside(text, at);
    if (behind != at && text[at] != '#') {  // a quoted part of a key, or a value
      at = std::max(behind, at + 1);
      continue;
    }
    if (text[at] == '.' && ++dots >= kDeepest) return line_at(text, at);
    if (std::string_view("\n=,[]{}#").find(text[at]) != std::string_view::npos) dots = 0;
    at = behind == at ? at + 1 : behind;
  }
  return 0;
}

std::string one_line(std::string_view text) {
  constexpr std::size_t kLongest = 200;
  return plain(text.substr(0, kLongest)) + (text.size() > kLongest ? "..." : "");
}

}  // namespace nnd::config
