#include "cli/explain/letters.h"

#include <cctype>

namespace nnd::cli {

namespace {

bool is_of_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

bool holds(std::string_view text, std::string_view wanted, bool to_the_end) {
  if (wanted.empty()) return false;
  for (std::size_t at = text.find(wanted); at != text.npos; at = text.find(wanted, at + 1)) {
    const std::size_t end = at + wanted.size();
    const bool begins = at == 0 || !is_of_word(text[at - 1]);
    if (begins && (!to_the_end || end == text.size() || !is_of_word(text[end]))) return true;
  }
  return false;
}

}  // namespace

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

bool holds_words(std::string_view text, std::string_view words) { return holds(text, words, true); }

bool holds_start(std::string_view text, std::string_view start) {
  return holds(text, start, false);
}

}  // namespace nnd::cli
