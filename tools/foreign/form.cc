#include "foreign/form.h"

#include <algorithm>

namespace nnd::foreign {

namespace {

// How long the conversion is that `format` begins with: "%d", "%02d", "%llx", "%.6s".
std::size_t conversion(std::string_view format) {
  const auto end = format.find_first_of("diuoxXcsfgpn%", 1);
  return end == std::string_view::npos ? format.size() : end + 1;
}

// The first words behind the conversions that the format begins with.
std::string_view literal_behind(std::string_view format) {
  while (format.starts_with('%')) format.remove_prefix(conversion(format));
  return format.substr(0, format.find('%'));
}

// How much of a literal the text ends with.
std::size_t broken_off(std::string_view text, std::string_view literal) {
  for (std::size_t length = std::min(literal.size(), text.size()); length > 0; --length)
    if (text.ends_with(literal.substr(0, length))) return length;
  return 0;
}

}  // namespace

Printed read_printed(std::string_view format, std::string_view text, bool cut) {
  Printed out;
  const auto first = std::min(format.find('%'), format.size());
  if (!text.starts_with(format.substr(0, first))) return out;
  if (first == 0 && text.find(literal_behind(format)) == std::string_view::npos) return out;
  out.begins = first != 0;
  format.remove_prefix(first);
  text.remove_prefix(first);
  while (!format.empty()) {
    format.remove_prefix(conversion(format));
    const auto literal = format.substr(0, format.find('%'));
    const bool last = literal.empty() && format.empty();
    if (literal.empty() && !last) {  // two in a row: the second has it all
      out.values.emplace_back();
      continue;
    }
    const auto end = last ? text.size() : text.find(literal);
    if (end == std::string_view::npos) {
      if (const auto length = broken_off(text, literal); length != 0)
        out.values.push_back(text.substr(0, text.size() - length));
      return out;
    }
    if (last && cut) return out;
    out.values.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + literal.size(), text.size()));
    format.remove_prefix(literal.size());
  }
  out.whole = true;
  return out;
}

}  // namespace nnd::foreign
