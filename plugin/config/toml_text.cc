#include "config/toml_text.h"

#include <algorithm>
#include <string>

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

}  // namespace

unsigned line_of_foreign_character(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    if (foreign(text[at]))
      return 1 + static_cast<unsigned>(
                     std::count(text.begin(), text.begin() + static_cast<long>(at), '\n'));
    const bool quote = text[at] == '"' || text[at] == '\'';
    if (text[at] == '#')
      at = std::min(text.find('\n', at), text.size());
    else if (quote && text.substr(at, 3) == std::string(3, text[at]))
      at = skip_long_string(text, at);
    else if (quote)
      at = skip_line_string(text, at);
    else
      ++at;
  }
  return 0;
}

}  // namespace nnd::config
